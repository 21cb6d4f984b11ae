// SPDX-License-Identifier: Apache-2.0
// What the graph updater exchanges with the host beside its statistics: minibatch, weights, cuts.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "kernels/cuda/status.h"
#include "learner/device/graph_updater.h"

namespace vixen::learner {

using kernels::WeightsKind;

absl::StatusOr<const Minibatch*> GraphUpdater::minibatch() {
  VIXEN_RETURN_IF_ERROR(held_);
  const UpdateBuffers& buffers = memory_.of(last_index_);
  const size_t batch = settings_.batch, width = network_.layers[0].inputs;
  const size_t element = ElementBytes(shape_.precision);
  std::vector<std::byte> states(2 * settings_.rows * width * element);
  VIXEN_RETURN_IF_ERROR(
      ToHost(states.data(), static_cast<const std::byte*>(buffers.states), states.size()));
  VIXEN_RETURN_IF_ERROR(ToHost(minibatch_.action.data(), buffers.action, batch));
  VIXEN_RETURN_IF_ERROR(ToHost(minibatch_.reward.data(), buffers.reward, batch));
  VIXEN_RETURN_IF_ERROR(ToHost(minibatch_.discount.data(), buffers.discount, batch));
  VIXEN_RETURN_IF_ERROR(ToHost(minibatch_.weight.data(), buffers.weight, batch));
  VIXEN_RETURN_IF_ERROR(ToHost(minibatch_.slot.data(), buffers.slot, batch));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream_.get()));
  const auto number = [&](size_t at) {
    // A bf16 is the upper half of a float32.
    uint32_t bits = 0;
    const size_t low = 4 - element;
    std::copy_n(states.data() + at * element, element, reinterpret_cast<std::byte*>(&bits) + low);
    return std::bit_cast<float>(bits);
  };
  for (size_t half = 0; half < 2; ++half) {
    for (size_t row = 0; row < batch; ++row) {
      for (size_t c = 0; c < minibatch_.state; ++c) {
        minibatch_.states[(half * batch + row) * minibatch_.state + c] =
            number((half * settings_.rows + row) * width + c);
      }
    }
  }
  return &minibatch_;
}

absl::Status GraphUpdater::GatherLast(CuriosityMinibatch& out) {
  VIXEN_RETURN_IF_ERROR(held_);
  VIXEN_CUDA_RETURN_IF_ERROR(LaunchCollectRows(replay_.view(), settings_, memory_.of(last_index_),
                                               last_rows_.data(), stream_.get()));
  VIXEN_RETURN_IF_ERROR(ToHost(rows_.data(), last_rows_.data(), rows_.size()));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream_.get()));
  Gather(features_, rows_, out);
  return absl::OkStatus();
}

absl::StatusOr<kernels::Parameters> GraphUpdater::Export(WeightsKind kind) const {
  VIXEN_RETURN_IF_ERROR(held_);
  const UpdateBuffers& buffers = memory_.of(0);
  return memory_.Download(network_, kind == WeightsKind::kTarget ? buffers.target : buffers.online,
                          trainer_.architecture, kind, stream_.get());
}

absl::StatusOr<TrainerCut> GraphUpdater::SaveTrainer() const {
  const UpdateBuffers& buffers = memory_.of(0);
  TrainerCut cut;
  VIXEN_ASSIGN_OR_RETURN(cut.online, Export(WeightsKind::kOnline));
  VIXEN_ASSIGN_OR_RETURN(cut.target, Export(WeightsKind::kTarget));
  const auto moment = [&](const float* from) {
    return memory_.Download(network_, from, trainer_.architecture, WeightsKind::kOnline,
                            stream_.get());
  };
  VIXEN_ASSIGN_OR_RETURN(cut.optimizer.first, moment(buffers.first));
  VIXEN_ASSIGN_OR_RETURN(cut.optimizer.second, moment(buffers.second));
  cut.optimizer.steps = static_cast<float>(steps_);
  cut.updates = updates_;
  return cut;
}

absl::Status GraphUpdater::RestoreTrainer(const TrainerCut& cut) {
  VIXEN_RETURN_IF_ERROR(held_);
  const UpdateBuffers& buffers = memory_.of(0);
  const kernels::Parameters* const parts[] = {&cut.online, &cut.target, &cut.optimizer.first,
                                              &cut.optimizer.second};
  float* const places[] = {buffers.online, buffers.target, buffers.first, buffers.second};
  for (const kernels::Parameters* part : parts) {
    const size_t expected = kernels::ParameterCount(trainer_.architecture, WeightsKind::kOnline);
    if (part->values.size() == expected) continue;
    return absl::InvalidArgumentError(
        absl::StrFormat("the cut's weights hold %d numbers, architecture %s needs %d",
                        part->values.size(), trainer_.architecture.Describe(), expected));
  }
  for (size_t i = 0; i < std::size(parts); ++i) {
    VIXEN_RETURN_IF_ERROR(memory_.Upload(network_, *parts[i], places[i], stream_.get()));
  }
  VIXEN_CUDA_RETURN_IF_ERROR(LaunchImages(network_, shape_, buffers, stream_.get()));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream_.get()));
  updates_ = cut.updates;
  steps_ = static_cast<uint64_t>(cut.optimizer.steps);
  return absl::OkStatus();
}

}  // namespace vixen::learner
