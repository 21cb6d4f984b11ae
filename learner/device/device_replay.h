// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "kernels/cuda/buffer.h"
#include "kernels/cuda/stream.h"
#include "learner/device/pinned_memory.h"
#include "learner/device/sum_tree.h"
#include "learner/replay/replay.h"

namespace vixen::learner {

// The ring of rows and their tree in device memory; same semantics as Replay. Everything is
// enqueued on the one stream given; only the functions that say so wait. One thread.
class DeviceReplay {
 public:
  // Device memory that it takes.
  static uint64_t BytesOf(uint64_t capacity, uint64_t features);

  // RESOURCE_EXHAUSTED. `features` [T, F] is copied.
  absl::Status Allocate(const ReplayOptions& options, std::span<const float> features,
                        cudaStream_t stream);

  uint64_t size() const { return inserted_ < options_.capacity ? inserted_ : options_.capacity; }
  uint64_t capacity() const { return options_.capacity; }
  uint64_t inserted() const { return inserted_; }
  const ReplayOptions& options() const { return options_; }
  const ReplayView& view() const { return view_; }

  std::pmr::memory_resource* row_memory() { return &pinned_; }
  // Returns when `rows` may be used again: they are copied from where they are when that is
  // row_memory(), else to pinned memory first, piece by piece.
  absl::Status Insert(std::span<const ReplayRow> rows, cudaStream_t stream);
  // Waits: total and least of now, and what was refused so far.
  absl::StatusOr<TreeCounts> Measure(cudaStream_t stream) const;
  // Waits.
  absl::Status Save(ReplayCut& cut, cudaStream_t stream) const;
  // As Replay::Restore but for the sampler, which is the caller's. Waits.
  absl::Status Restore(const ReplayCut& cut, cudaStream_t stream);

 private:
  static constexpr size_t kPieceRows = 4096;
  struct Piece {
    kernels::PinnedBuffer<ReplayRow> rows;
    kernels::Event copied;
  };

  // Enqueues a copy to the ring.
  absl::Status CopyRows(std::span<const ReplayRow> rows, uint64_t slot, cudaStream_t stream);

  ReplayOptions options_;
  uint64_t inserted_ = 0;
  ReplayView view_;
  kernels::DeviceBuffer<ReplayRow> rows_;
  kernels::DeviceBuffer<float> features_;
  kernels::DeviceBuffer<float> leaves_;
  kernels::DeviceBuffer<double> sums_;
  kernels::DeviceBuffer<float> leasts_, mosts_;
  kernels::DeviceBuffer<TreeCounts> counts_;
  PinnedMemoryResource pinned_;
  kernels::Event copied_;
  std::array<Piece, 8> pieces_;
  size_t next_piece_ = 0;
};

}  // namespace vixen::learner
