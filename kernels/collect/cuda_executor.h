// SPDX-License-Identifier: Apache-2.0
// The device side of the CUDA executor: dataset, weights, slot states and workspace in device
// memory, and launches enqueued on a stream into device columns. CudaCollector adds the way to the
// host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/collect/algorithm.h"
#include "kernels/collect/collector.h"
#include "kernels/collect/cuda_batched_phase.h"
#include "kernels/collect/cuda_choice.h"
#include "kernels/collect/cuda_dataset.h"
#include "kernels/collect/cuda_launch.h"
#include "kernels/collect/cuda_memory_plan.h"
#include "kernels/collect/cuda_stepped.h"
#include "kernels/collect/cuda_weights.h"
#include "kernels/cuda/buffer.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/stream.h"
#include "kernels/env/rules.h"

namespace vixen::kernels {

// One launch's output in device memory: the columns in the order of kColumns, with room for
// `terms`.
struct DeviceBatch {
  bool with_terms = true;           // whether the launch fills them
  DeviceBuffer<std::byte> columns;  // [N·L × 62]
  DeviceBuffer<float> q;            // [N·L, 45] or empty
  DeviceBuffer<LaunchStatistics> statistics;
  DeviceBuffer<unsigned long long> bad_row;  // [2]: and the count of clamped activations
  DeviceBuffer<SlotState> start_slots;       // [N]
};

// Host memory that a launch's inputs travel from; it must stay as it is until the launch began.
struct LaunchStaging {
  PinnedBuffer<LaunchArguments> arguments;  // [1]
  PinnedBuffer<SlotState> slots;            // [N]
  PinnedBuffer<uint32_t> rng;               // [N]
  PinnedBuffer<uint32_t> starts;            // [N]
  PinnedBuffer<uint8_t> scripted;           // [N·L], on first use
};

class CudaExecutor {
 public:
  // NOT_FOUND or UNAVAILABLE for the device, RESOURCE_EXHAUSTED with the plan when memory is short,
  // INVALID_ARGUMENT when `algorithm` or the precision cannot run these widths on this device.
  // `datasets`, of `device`: where the dataset is looked for first; null: nowhere.
  static absl::StatusOr<std::unique_ptr<CudaExecutor>> Create(const CollectorOptions& options,
                                                              int device, CudaAlgorithm algorithm,
                                                              DeviceDatasets* datasets = nullptr);
  ~CudaExecutor();

  const CollectorInfo& info() const { return info_; }
  const CudaDevice& device() const { return device_; }

  // As of Collector. Stage may run beside Enqueue.
  absl::StatusOr<WeightsProbe> Stage(const Parameters& parameters);
  absl::Status Commit(WeightsKind kind, cudaStream_t stream);
  absl::Status CanLaunch() const;

  absl::Status Allocate(DeviceBatch& batch, bool with_q) const;
  absl::Status Allocate(LaunchStaging& staging) const;

  // Enqueues a whole launch. Explicit inputs and slot states are copied before it returns.
  absl::Status Enqueue(const LaunchRequest& request, LaunchStaging& staging, DeviceBatch& batch,
                       cudaStream_t stream);
  // After everything enqueued on `stream`.
  absl::StatusOr<std::vector<SlotState>> ReadSlots(cudaStream_t stream);

 private:
  // A kind's buffers: `staged` is written by Stage, copied to `live` by Commit in stream order.
  struct Weights {
    WeightsLayout layout;
    DeviceBuffer<std::byte> staged;
    DeviceBuffer<std::byte> live;
    WeightsFit staged_fit;
    WeightsFit live_fit;
    bool is_live = false;
    bool is_staged = false;
    Event copied;  // staged → live done
    LiveWeights address() const { return {layout, live.data()}; }
  };

  explicit CudaExecutor(const CollectorOptions& options);
  absl::Status Start(int device, CudaAlgorithm algorithm, DeviceDatasets& datasets);
  void Announce(const LaunchChoice& choice);
  absl::Status FillArguments(const LaunchRequest& request, LaunchStaging& staging,
                             DeviceBatch& batch, cudaStream_t stream);
  Weights& of(WeightsKind kind) { return weights_[static_cast<size_t>(kind)]; }
  const Weights& of(WeightsKind kind) const { return weights_[static_cast<size_t>(kind)]; }
  LivePolicy live() const;
  TilePolicy TilesOf(Precision precision) const;
  cudaError_t EnqueueSequence(CudaAlgorithm algorithm, const LaunchArguments& launch,
                              const TilePolicy& tiles, cudaStream_t stream) const;
  // The products of ChooseLaunch's answer that is not what was prepared: allocated when first
  // needed.
  absl::StatusOr<SteppedAlgorithm*> SteppedOf(Precision precision);
  bool needs_curiosity() const { return options_.settings.curiosity_max > 0.0f; }
  absl::Status SelectDevice() const;

  const CollectorOptions options_;
  const Rules rules_;
  CudaDevice device_;
  CollectorInfo info_;
  MemoryPlan plan_;
  CudaLimits limits_;
  uint32_t resident_blocks_ = 0;
  AlgorithmChoice started_;
  std::shared_ptr<const DeviceDataset> dataset_;

  Weights weights_[3];
  std::mutex stage_mutex_;
  Stream stage_stream_;
  PinnedBuffer<std::byte> stage_out_;   // image on its way to the device
  PinnedBuffer<std::byte> stage_back_;  // and read back
  DeviceBuffer<float> probe_;           // state, then answers

  DeviceBuffer<LaunchArguments> arguments_;
  DeviceBuffer<SlotState> slots_;
  bool has_slots_ = false;
  DeviceBuffer<uint32_t> rng_;
  DeviceBuffer<uint32_t> starts_;
  DeviceBuffer<uint8_t> scripted_;
  DeviceBuffer<RowScratch> scratch_;
  DeviceBuffer<float> curiosity_;
  DeviceBuffer<std::byte> statistics_workspace_;
  // What stepped launches run, by precision; prepared at the start, or at the first launch whose
  // weights need it.
  std::unique_ptr<SteppedAlgorithm> stepped_[4];
};

}  // namespace vixen::kernels
