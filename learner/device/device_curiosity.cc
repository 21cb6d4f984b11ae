// SPDX-License-Identifier: Apache-2.0
#include "learner/device/device_curiosity.h"

#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "kernels/cuda/status.h"

namespace vixen::learner {

using kernels::WeightsKind;

absl::Status DeviceCuriosity::Start(const kernels::Architecture& architecture,
                                    const CuriosityTraining& training, cudaStream_t stream) {
  architecture_ = architecture;
  stream_ = stream;
  view_.embedding = architecture.embedding();
  view_.hidden = architecture.curiosity_hidden;
  view_.period = training.period;
  view_.learning_rate = training.learning_rate;
  const uint64_t count = view_.count();
  VIXEN_RETURN_IF_ERROR(parameters_.Allocate(count));
  VIXEN_RETURN_IF_ERROR(first_.Allocate(count));
  VIXEN_RETURN_IF_ERROR(second_.Allocate(count));
  VIXEN_RETURN_IF_ERROR(partial_.Allocate(count * CuriosityView::kMostBlocks));
  VIXEN_RETURN_IF_ERROR(loss_part_.Allocate(CuriosityView::kMostBlocks));
  view_.parameters = parameters_.data();
  view_.first = first_.data();
  view_.second = second_.data();
  view_.partial = partial_.data();
  view_.loss_part = loss_part_.data();
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(first_.data(), 0, first_.bytes(), stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(second_.data(), 0, second_.bytes(), stream));
  return Upload(training.weights, view_.parameters);
}

absl::Status DeviceCuriosity::Upload(const kernels::Parameters& from, float* to) {
  if (from.values.size() != view_.count()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("curiosity weights hold %d numbers, architecture %s needs %d",
                        from.values.size(), architecture_.Describe(), view_.count()));
  }
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(to, from.values.data(), view_.count() * sizeof(float),
                                             cudaMemcpyHostToDevice, stream_));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream_));
  return absl::OkStatus();
}

absl::StatusOr<kernels::Parameters> DeviceCuriosity::Download(const float* from) const {
  kernels::Parameters to;
  to.architecture = architecture_;
  to.kind = WeightsKind::kCuriosity;
  to.values.resize(view_.count());
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(to.values.data(), from, view_.count() * sizeof(float),
                                             cudaMemcpyDeviceToHost, stream_));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream_));
  return to;
}

absl::StatusOr<kernels::Parameters> DeviceCuriosity::Export() const {
  return Download(view_.parameters);
}

absl::StatusOr<CuriosityCut> DeviceCuriosity::Save() const {
  CuriosityCut cut;
  VIXEN_ASSIGN_OR_RETURN(cut.weights, Export());
  VIXEN_ASSIGN_OR_RETURN(cut.optimizer.first, Download(view_.first));
  VIXEN_ASSIGN_OR_RETURN(cut.optimizer.second, Download(view_.second));
  cut.optimizer.steps = static_cast<float>(steps_);
  return cut;
}

absl::Status DeviceCuriosity::Restore(const CuriosityCut& cut) {
  VIXEN_RETURN_IF_ERROR(Upload(cut.weights, view_.parameters));
  VIXEN_RETURN_IF_ERROR(Upload(cut.optimizer.first, view_.first));
  VIXEN_RETURN_IF_ERROR(Upload(cut.optimizer.second, view_.second));
  steps_ = static_cast<uint64_t>(cut.optimizer.steps);
  return absl::OkStatus();
}

}  // namespace vixen::learner
