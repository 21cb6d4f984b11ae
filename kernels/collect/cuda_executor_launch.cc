// SPDX-License-Identifier: Apache-2.0
// Launches of an executor.
#include <cstring>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/collect/cuda_executor.h"
#include "kernels/collect/cuda_mma_tiled.h"
#include "kernels/collect/cuda_resident.h"
#include "kernels/collect/cuda_single.h"
#include "kernels/collect/cuda_tiled.h"

namespace vixen::kernels {

absl::StatusOr<SteppedAlgorithm*> CudaExecutor::SteppedOf(Precision precision) {
  std::unique_ptr<SteppedAlgorithm>& stepped = stepped_[static_cast<size_t>(precision)];
  if (stepped == nullptr) {
    auto prepared = std::make_unique<SteppedAlgorithm>();
    VIXEN_RETURN_IF_ERROR(prepared->Prepare(options_, precision, live(), arguments_.data(),
                                            dataset_->market(), stage_stream_.get()));
    stepped = std::move(prepared);
  }
  return stepped.get();
}

absl::Status CudaExecutor::FillArguments(const LaunchRequest& request, LaunchStaging& staging,
                                         DeviceBatch& batch, cudaStream_t stream) {
  const size_t rows = size_t{options_.episodes} * options_.steps;
  LaunchArguments launch;
  launch.rules = rules_;
  launch.market = dataset_->market();
  launch.episodes = options_.episodes;
  launch.steps = options_.steps;
  launch.seed = request.seed;
  launch.launch = request.launch;
  for (int i = 0; i < rules_.settings.action_count; ++i) {
    launch.allowed |= uint64_t{1} << rules_.settings.actions[i];
  }
  launch.epsilon = request.epsilon;
  launch.slots = slots_.data();
  launch.start_slots = options_.settings.carry_over ? batch.start_slots.data() : nullptr;
  launch.scratch = scratch_.data();
  launch.curiosity = curiosity_.data();
  launch.statistics = batch.statistics.data();
  launch.bad_row = batch.bad_row.data();
  launch.clamped = batch.bad_row.data() + 1;

  std::byte* at = batch.columns.data();
  const auto take = [&](size_t width) {
    std::byte* column = at;
    at += rows * width;
    return column;
  };
  launch.rows.bar = reinterpret_cast<uint32_t*>(take(4));
  launch.rows.episode = reinterpret_cast<uint32_t*>(take(4));
  launch.rows.portfolio = reinterpret_cast<float*>(take(12));
  launch.rows.next_portfolio = reinterpret_cast<float*>(take(12));
  launch.rows.reward = reinterpret_cast<float*>(take(4));
  launch.rows.td = reinterpret_cast<float*>(take(4));
  std::byte* terms = take(20);
  launch.rows.terms = batch.with_terms ? reinterpret_cast<float*>(terms) : nullptr;
  launch.rows.action = reinterpret_cast<uint8_t*>(take(1));
  launch.rows.flags = reinterpret_cast<uint8_t*>(take(1));
  launch.rows.q = batch.q.data();

  const auto send = [&](auto& pinned, auto& device, auto values) -> absl::Status {
    if (device.empty()) VIXEN_RETURN_IF_ERROR(device.Allocate(values.size()));
    if (pinned.size() < values.size()) VIXEN_RETURN_IF_ERROR(pinned.Allocate(values.size()));
    std::memcpy(pinned.data(), values.data(), values.size_bytes());
    VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(device.data(), pinned.data(), values.size_bytes(),
                                               cudaMemcpyHostToDevice, stream));
    return absl::OkStatus();
  };
  const ExplicitInputs& inputs = request.inputs;
  if (!inputs.rng.empty()) {
    VIXEN_RETURN_IF_ERROR(send(staging.rng, rng_, inputs.rng));
    launch.rng = rng_.data();
  }
  if (!inputs.starts.empty()) {
    VIXEN_RETURN_IF_ERROR(send(staging.starts, starts_, inputs.starts));
    launch.starts = starts_.data();
  }
  if (!inputs.actions.empty()) {
    VIXEN_RETURN_IF_ERROR(send(staging.scripted, scripted_, inputs.actions));
    launch.scripted = scripted_.data();
  }
  if (!request.slot_states.empty()) {
    VIXEN_RETURN_IF_ERROR(send(staging.slots, slots_, request.slot_states));
    launch.keep_slots = 1;
  } else if (options_.settings.carry_over && request.launch > 0 && inputs.rng.empty() &&
             inputs.starts.empty()) {
    if (!has_slots_) {
      return absl::FailedPreconditionError(base::StrCat(
          "launch ", request.launch,
          " with carry_over needs the slot states of the launch before it: give slot_states"));
    }
    launch.keep_slots = 1;
  }
  *staging.arguments.data() = launch;
  VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(arguments_.data(), staging.arguments.data(),
                                             sizeof(LaunchArguments), cudaMemcpyHostToDevice,
                                             stream));
  return absl::OkStatus();
}

// The sequential phase of an algorithm with tiles or resident weights.
cudaError_t CudaExecutor::EnqueueSequence(CudaAlgorithm algorithm, const LaunchArguments& launch,
                                          const TilePolicy& tiles, cudaStream_t stream) const {
  const int sms = device_.multiprocessors;
  if (algorithm == CudaAlgorithm::kTiled) return EnqueueTiledSequence(launch, tiles, sms, stream);
  if (algorithm == CudaAlgorithm::kTiledMma) return EnqueueMmaSequence(launch, tiles, sms, stream);
  const Weights& online = of(WeightsKind::kOnline);
  const std::byte* const live = online.live.data();
  const std::byte* const image = live + online.layout.resident[static_cast<size_t>(tiles.operand)];
  const auto* const biases = reinterpret_cast<const float*>(live + online.layout.biases);
  return algorithm == CudaAlgorithm::kResidentSingle
             ? EnqueueSingleSequence(launch, tiles.operand, image, biases, sms, stream)
             : EnqueueResidentSequence(launch, tiles.operand, image, biases, resident_blocks_,
                                       stream);
}

absl::Status CudaExecutor::Enqueue(const LaunchRequest& request, LaunchStaging& staging,
                                   DeviceBatch& batch, cudaStream_t stream) {
  VIXEN_RETURN_IF_ERROR(CanLaunch());
  VIXEN_RETURN_IF_ERROR(SelectDevice());
  VIXEN_RETURN_IF_ERROR(FillArguments(request, staging, batch, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(EnqueueStart(arguments_.data(), options_.episodes, stream));
  WeightsFit fit = Both(of(WeightsKind::kOnline).live_fit, of(WeightsKind::kTarget).live_fit);
  if (needs_curiosity()) fit = Both(fit, of(WeightsKind::kCuriosity).live_fit);
  const LaunchChoice choice = ChooseLaunch(started_, options_.precision, fit);
  Announce(choice);
  if (choice.algorithm == CudaAlgorithm::kStepped) {
    const std::lock_guard lock(stage_mutex_);
    VIXEN_ASSIGN_OR_RETURN(SteppedAlgorithm* const stepped, SteppedOf(choice.precision));
    VIXEN_RETURN_IF_ERROR(stepped->EnqueueSequence(stream));
    VIXEN_RETURN_IF_ERROR(stepped->EnqueueBatch(stream));
  } else {
    const TilePolicy tiles = TilesOf(choice.precision);
    const LaunchArguments& launch = *staging.arguments.data();
    const int sms = device_.multiprocessors;
    VIXEN_CUDA_RETURN_IF_ERROR(EnqueueSequence(choice.algorithm, launch, tiles, stream));
    VIXEN_CUDA_RETURN_IF_ERROR(FormOf(choice.algorithm) == TileForm::kFragments
                                   ? EnqueueMmaBatch(launch, tiles, sms, stream)
                                   : EnqueueBatchedPhase(launch, tiles, sms, stream));
  }
  VIXEN_CUDA_RETURN_IF_ERROR(EnqueueStatistics(arguments_.data(), options_.episodes, options_.steps,
                                               statistics_workspace_.data(), stream));
  has_slots_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SlotState>> CudaExecutor::ReadSlots(cudaStream_t stream) {
  VIXEN_RETURN_IF_ERROR(SelectDevice());
  std::vector<SlotState> slots(options_.episodes);
  if (!has_slots_) return slots;
  VIXEN_CUDA_RETURN_IF_ERROR(
      cudaMemcpyAsync(slots.data(), slots_.data(), slots_.bytes(), cudaMemcpyDeviceToHost, stream));
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream));
  return slots;
}

}  // namespace vixen::kernels
