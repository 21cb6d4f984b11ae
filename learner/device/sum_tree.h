// SPDX-License-Identifier: Apache-2.0
// The priorities on the device: a tree of fan-out 128 whose leaves are the rows' priorities and
// whose nodes hold the sum (float64), the least positive and the largest leaf below. A warp reads
// the children of a node at once, so that a draw from 10⁶ rows takes three dependent reads. Nodes
// are recomputed from their children, never adjusted by differences: nothing drifts.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "learner/device/update_buffers.h"
#include "learner/replay/row.h"

namespace vixen::learner {

struct TreeLevel {
  double* sum = nullptr;
  float* least = nullptr;  // of the positive leaves; infinity where there is none
  float* most = nullptr;
};

// Pointers into device memory, passed by value.
struct SumTreeView {
  static constexpr uint32_t kFanOut = 128;
  static constexpr uint32_t kFanOutBits = 7;
  static constexpr uint32_t kMostLevels = 5;

  float* leaves = nullptr;           // [capacity padded to 128], 0 where there is no row
  TreeLevel levels[kMostLevels];     // above the leaves; the last has at most 128 nodes
  uint32_t nodes[kMostLevels] = {};  // of each level, not padded
  uint32_t level_count = 0;
};

// Values that were refused as a priority, by cause; and of the last insert.
struct TreeCounts {
  unsigned long long nan = 0, positive_infinity = 0, negative_infinity = 0, negative = 0;
  unsigned long long stale = 0;  // updates of rows that were overwritten
  double total = 0;              // when the last insert began, or when Measure ran
  float least = 0, most = 0;
};

struct ReplaySettings {
  uint64_t capacity = 0;
  double alpha = 0.6, epsilon = 1e-6;
  double beta_start = 0.4, beta_end = 1.0;
  uint64_t beta_updates = 100'000;
  bool start_at_max = false;
};

struct ReplayView {
  const ReplayRow* rows = nullptr;  // [capacity]
  const float* features = nullptr;  // [T, F]
  SumTreeView tree;
  TreeCounts* counts = nullptr;
  ReplaySettings settings;
};

// Levels and nodes for so many rows; the pointers stay null.
SumTreeView TreeShapeOf(uint64_t capacity);
// Bytes of leaves and nodes.
size_t TreeBytes(const SumTreeView& shape);

// `batch` draws, one from each equal part of the mass, and their rows gathered into the minibatch
// as operands of `precision`. `index`: of the update in its launch.
cudaError_t LaunchSample(const ReplayView& replay, const DeviceNetwork& network,
                         DevicePrecision precision, const UpdateSettings& settings,
                         const UpdateBuffers& buffers, uint32_t index, cudaStream_t stream);
// The priorities of the minibatch's rows from |td|, by (slot, generation), slots ascending; of
// equal slots the last counts. `index`: of the update in its launch. All of them where it is this
// very update that fails, none after it: leaves and nodes agree whatever the timing.
cudaError_t LaunchPriorities(const ReplayView& replay, const UpdateSettings& settings,
                             const UpdateBuffers& buffers, uint32_t index, cudaStream_t stream);
// First leaves of the rows [first, first + count) of the ring, which are there; `size` rows were
// there before.
cudaError_t LaunchInsert(const ReplayView& replay, uint64_t first, uint64_t count, uint64_t size,
                         cudaStream_t stream);
// Every node from the leaves.
cudaError_t LaunchRebuild(const ReplayView& replay, cudaStream_t stream);
// Total, least and most of all rows, into the counts.
cudaError_t LaunchMeasure(const ReplayView& replay, cudaStream_t stream);
// The minibatch's rows as they lie in the ring, into `to` [batch].
cudaError_t LaunchCollectRows(const ReplayView& replay, const UpdateSettings& settings,
                              const UpdateBuffers& buffers, ReplayRow* to, cudaStream_t stream);

}  // namespace vixen::learner
