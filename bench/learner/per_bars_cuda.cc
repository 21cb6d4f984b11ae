// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "base/status_macros.h"
#include "bench/learner/per_bars.h"
#include "kernels/cuda/status.h"
#include "kernels/cuda/stream.h"
#include "learner/device/device_replay.h"
#include "learner/device/trainer_memory.h"
#include "learner/replay/replay.h"

namespace vixen::learner {
namespace {

// Replay and minibatch memory of the learner on the GPU, without its network.
class CudaBars : public PerBars {
 public:
  absl::Status Start(const ReplayOptions& options, std::span<const ReplayRow> rows) {
    VIXEN_CUDA_RETURN_IF_ERROR(cudaSetDevice(0));
    VIXEN_RETURN_IF_ERROR(kernels::CreateStream(stream_));
    const std::vector<float> features(network_.features, 0.0f);  // every row has bar 0
    settings_.batch = kBarsBatch;
    settings_.rows = PaddedRows(kBarsBatch);
    PassShape shape;
    shape.precision = DevicePrecision::kFp32;
    VIXEN_RETURN_IF_ERROR(replay_.Allocate(options, features, stream_.get()));
    VIXEN_RETURN_IF_ERROR(memory_.Allocate(network_, shape, settings_, 1));
    VIXEN_RETURN_IF_ERROR(replay_.Insert(rows, stream_.get()));
    control_.sampler = options.seed;
    control_.inserted = replay_.inserted();
    control_.size = replay_.size();
    return ToDevice(memory_.of(0).control, &control_, 1);
  }

  absl::Status Draw(uint64_t batches, std::vector<uint32_t>& slots) override {
    const UpdateBuffers& buffers = memory_.of(0);
    slots.resize(batches * kBarsBatch);
    for (uint64_t i = 0; i < batches; ++i) {
      VIXEN_CUDA_RETURN_IF_ERROR(LaunchSample(replay_.view(), network_, DevicePrecision::kFp32,
                                              settings_, buffers, static_cast<uint32_t>(i),
                                              stream_.get()));
      VIXEN_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(slots.data() + i * kBarsBatch, buffers.slot,
                                                 kBarsBatch * sizeof(uint32_t),
                                                 cudaMemcpyDeviceToHost, stream_.get()));
    }
    VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamSynchronize(stream_.get()));
    return absl::OkStatus();
  }

  absl::Status Update(std::span<const uint32_t> slot, std::span<const float> td) override {
    const UpdateBuffers& buffers = memory_.of(0);
    // The ring went round exactly once: a slot's generation is its number.
    const std::vector<uint64_t> generation(slot.begin(), slot.end());
    VIXEN_RETURN_IF_ERROR(ToDevice(buffers.slot, slot.data(), slot.size()));
    VIXEN_RETURN_IF_ERROR(ToDevice(buffers.generation, generation.data(), generation.size()));
    VIXEN_RETURN_IF_ERROR(ToDevice(buffers.abs_td, td.data(), td.size()));
    VIXEN_CUDA_RETURN_IF_ERROR(
        LaunchPriorities(replay_.view(), settings_, buffers, 0, stream_.get()));
    return absl::OkStatus();
  }

  absl::StatusOr<double> Total() override {
    VIXEN_ASSIGN_OR_RETURN(const TreeCounts counts, replay_.Measure(stream_.get()));
    if (counts.stale == 0) return counts.total;
    return absl::InternalError("updates were taken for stale");
  }
  absl::StatusOr<std::vector<double>> Leaves() override {
    ReplayCut cut;
    VIXEN_RETURN_IF_ERROR(replay_.Save(cut, stream_.get()));
    return cut.leaves;
  }

 private:
  // From pageable memory: it is read before this returns.
  template <typename T>
  absl::Status ToDevice(T* to, const T* from, size_t count) {
    VIXEN_CUDA_RETURN_IF_ERROR(
        cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, stream_.get()));
    return absl::OkStatus();
  }

  const DeviceNetwork network_ = DeviceNetworkOf({});
  UpdateSettings settings_;
  UpdateControl control_;
  kernels::Stream stream_;
  DeviceReplay replay_;
  TrainerMemory memory_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PerBars>> MakeCudaBars(const ReplayOptions& options,
                                                      std::span<const ReplayRow> rows) {
  auto bars = std::make_unique<CudaBars>();
  VIXEN_RETURN_IF_ERROR(bars->Start(options, rows));
  return bars;
}

}  // namespace vixen::learner
