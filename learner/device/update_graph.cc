// SPDX-License-Identifier: Apache-2.0
#include "learner/device/update_graph.h"

#include "base/status_macros.h"
#include "kernels/cuda/status.h"

namespace vixen::learner {

absl::Status UpdateGraphs::Create() {
  VIXEN_RETURN_IF_ERROR(kernels::CreateStream(capture_));
  VIXEN_RETURN_IF_ERROR(kernels::CreateStream(beside_));
  for (kernels::Event* event : {&lossed_, &sampled_, &reduced_, &trained_}) {
    VIXEN_RETURN_IF_ERROR(kernels::CreateEvent(*event));
  }
  return absl::OkStatus();
}

void UpdateGraphs::ShareWith(const NcclGroup* group) {
  graphs_.clear();
  group_ = group;
}

absl::Status UpdateGraphs::EnqueueReduce(const UpdateBuffers& buffers, uint32_t index,
                                         cudaStream_t stream) const {
  if (group_ == nullptr) {
    VIXEN_CUDA_RETURN_IF_ERROR(LaunchReduce(network_, shape_, settings_, buffers, index, stream));
    return absl::OkStatus();
  }
  VIXEN_CUDA_RETURN_IF_ERROR(LaunchReduceOwn(network_, shape_, settings_, buffers, index, stream));
  VIXEN_RETURN_IF_ERROR(
      group_->Sum(buffers.gradient, buffers.partial, network_.parameters + kRankFigures, stream));
  const float share = 1.0f / static_cast<float>(group_->place().size);
  VIXEN_CUDA_RETURN_IF_ERROR(LaunchReduceJoint(network_, settings_, buffers, index, share, stream));
  return absl::OkStatus();
}

absl::Status UpdateGraphs::Enqueue(uint64_t updates, const ReplayView& replay,
                                   const TrainerMemory& memory, cudaStream_t stream) const {
  const auto sample = [&](uint64_t index, cudaStream_t on) {
    return LaunchSample(replay, network_, shape_.precision, settings_, memory.of(index),
                        static_cast<uint32_t>(index), on);
  };
  VIXEN_CUDA_RETURN_IF_ERROR(sample(0, stream));
  for (uint64_t i = 0; i < updates; ++i) {
    const auto index = static_cast<uint32_t>(i);
    const UpdateBuffers& buffers = memory.of(i);
    VIXEN_CUDA_RETURN_IF_ERROR(LaunchForward(network_, shape_, settings_, buffers, stream));
    VIXEN_CUDA_RETURN_IF_ERROR(LaunchBackward(network_, shape_, settings_, buffers, stream));
    VIXEN_CUDA_RETURN_IF_ERROR(cudaEventRecord(lossed_.get(), stream));
    VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamWaitEvent(beside_.get(), lossed_.get()));
    VIXEN_CUDA_RETURN_IF_ERROR(LaunchPriorities(replay, settings_, buffers, index, beside_.get()));
    if (i + 1 < updates) VIXEN_CUDA_RETURN_IF_ERROR(sample(i + 1, beside_.get()));
    VIXEN_CUDA_RETURN_IF_ERROR(cudaEventRecord(sampled_.get(), beside_.get()));
    VIXEN_CUDA_RETURN_IF_ERROR(LaunchWeightGradients(network_, shape_, settings_, buffers, stream));
    VIXEN_RETURN_IF_ERROR(EnqueueReduce(buffers, index, stream));
    if (curiosity_.period > 0) {
      // After it is known whether the update failed.
      VIXEN_CUDA_RETURN_IF_ERROR(cudaEventRecord(reduced_.get(), stream));
      VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamWaitEvent(beside_.get(), reduced_.get()));
      VIXEN_CUDA_RETURN_IF_ERROR(
          LaunchCuriosity(replay, network_, settings_, curiosity_, buffers, index, beside_.get()));
    }
    VIXEN_CUDA_RETURN_IF_ERROR(LaunchStep(network_, shape_, settings_, buffers, index, stream));
    VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamWaitEvent(stream, sampled_.get()));
  }
  if (curiosity_.period == 0) return absl::OkStatus();
  VIXEN_CUDA_RETURN_IF_ERROR(cudaEventRecord(trained_.get(), beside_.get()));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamWaitEvent(stream, trained_.get()));
  return absl::OkStatus();
}

absl::Status UpdateGraphs::Capture(uint64_t updates, const ReplayView& replay,
                                   const TrainerMemory& memory, kernels::GraphExec& graph) const {
  VIXEN_CUDA_RETURN_IF_ERROR(
      cudaStreamBeginCapture(capture_.get(), cudaStreamCaptureModeThreadLocal));
  absl::Status enqueued = Enqueue(updates, replay, memory, capture_.get());
  cudaGraph_t captured = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(capture_.get(), &captured);
  if (!enqueued.ok()) {
    if (captured != nullptr) cudaGraphDestroy(captured);
    return enqueued;
  }
  VIXEN_CUDA_RETURN_IF_ERROR(ended);
  const cudaError_t made = cudaGraphInstantiate(graph.receive(), captured, 0);
  cudaGraphDestroy(captured);
  VIXEN_CUDA_RETURN_IF_ERROR(made);
  return absl::OkStatus();
}

absl::Status UpdateGraphs::Launch(uint64_t updates, const ReplayView& replay,
                                  const TrainerMemory& memory, cudaStream_t stream) {
  kernels::GraphExec& graph = graphs_[updates];
  if (graph.get() == nullptr) {
    VIXEN_RETURN_IF_ERROR(Capture(updates, replay, memory, graph));
  }
  VIXEN_CUDA_RETURN_IF_ERROR(cudaGraphLaunch(graph.get(), stream));
  return absl::OkStatus();
}

absl::Status UpdateGraphs::LaunchFirstHalf(const ReplayView& replay, const UpdateBuffers& buffers,
                                           cudaStream_t stream) const {
  VIXEN_CUDA_RETURN_IF_ERROR(
      LaunchSample(replay, network_, shape_.precision, settings_, buffers, 0, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(LaunchForward(network_, shape_, settings_, buffers, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(LaunchBackward(network_, shape_, settings_, buffers, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(LaunchWeightGradients(network_, shape_, settings_, buffers, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(LaunchReduceOwn(network_, shape_, settings_, buffers, 0, stream));
  return absl::OkStatus();
}

absl::Status UpdateGraphs::LaunchSecondHalf(const ReplayView& replay, const UpdateBuffers& buffers,
                                            cudaStream_t stream) const {
  VIXEN_CUDA_RETURN_IF_ERROR(LaunchReduceJoint(network_, settings_, buffers, 0, 1.0f, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(LaunchStep(network_, shape_, settings_, buffers, 0, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(LaunchPriorities(replay, settings_, buffers, 0, stream));
  if (curiosity_.period == 0) return absl::OkStatus();
  VIXEN_CUDA_RETURN_IF_ERROR(
      LaunchCuriosity(replay, network_, settings_, curiosity_, buffers, 0, stream));
  return absl::OkStatus();
}

}  // namespace vixen::learner
