// SPDX-License-Identifier: Apache-2.0
// Leaves from |td|, and the nodes above them.
#include <cuda_runtime.h>

#include "learner/device/sum_tree.cuh"

namespace vixen::learner {
namespace {

constexpr uint32_t kWarps = kTreeThreads / 32;

// The leaf of a |td|, or a negative number (counted) when it is refused; as Replay::LeafOf.
__device__ __forceinline__ float LeafOf(const ReplaySettings& settings, float td,
                                        TreeCounts* counts) {
  if (isnan(td)) {
    atomicAdd(&counts->nan, 1ull);
  } else if (isinf(td)) {
    atomicAdd(td > 0.0f ? &counts->positive_infinity : &counts->negative_infinity, 1ull);
  } else if (td < 0.0f) {
    atomicAdd(&counts->negative, 1ull);
  } else {
    if (settings.alpha == 0.0) return 1.0f;
    return powf(static_cast<float>(td + settings.epsilon), static_cast<float>(settings.alpha));
  }
  return -1.0f;
}

// Whether an update before this one of the launch failed. That is known by now; of this one itself
// it becomes known while its priorities are being set, and so must not count.
__device__ __forceinline__ bool FailedBefore(const UpdateControl& control, uint32_t index) {
  const uint32_t failed = control.failed;
  return failed != 0 && failed != index + 1;
}

// The warp of a row is its parent's when the next row has another one. Rows come in the order of
// their slots, so those of a parent follow each other: one warp sets its leaves and recomputes it.
__global__ void __launch_bounds__(kTreeThreads)
    SetLeaves(ReplayView replay, uint32_t batch, UpdateBuffers buffers, uint32_t index) {
  const UpdateControl& control = *buffers.control;
  if (FailedBefore(control, index)) return;
  const uint32_t row = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= batch) return;
  const uint32_t* slot = buffers.slot;
  const uint32_t parent = slot[row] / SumTreeView::kFanOut;
  if (row + 1 < batch && slot[row + 1] / SumTreeView::kFanOut == parent) return;
  for (uint32_t done = 0;; done += 32) {
    const int64_t i = int64_t{row} - done - lane;
    const bool ours = i >= 0 && slot[i] / SumTreeView::kFanOut == parent;
    if (ours && (i + 1 == batch || slot[i + 1] != slot[i])) {
      const uint64_t generation = buffers.generation[i];
      if (generation + control.size < control.inserted || generation >= control.inserted ||
          generation % replay.settings.capacity != slot[i]) {
        atomicAdd(&replay.counts->stale, 1ull);
      } else {
        const float leaf = LeafOf(replay.settings, buffers.abs_td[i], replay.counts);
        if (leaf >= 0.0f) replay.tree.leaves[slot[i]] = leaf;
      }
    }
    if (__ballot_sync(~0u, ours) != ~0u) break;
  }
  __syncwarp();
  RecomputeNode(replay.tree, 0, parent);
}

// The nodes of a level above the minibatch's rows.
__global__ void __launch_bounds__(kTreeThreads)
    RaiseRows(ReplayView replay, uint32_t batch, UpdateBuffers buffers, uint32_t level,
              uint32_t index) {
  if (FailedBefore(*buffers.control, index)) return;
  const uint32_t row = blockIdx.x * kWarps + threadIdx.x / 32;
  if (row >= batch) return;
  const uint32_t shift = SumTreeView::kFanOutBits * (level + 1);
  const uint32_t node = buffers.slot[row] >> shift;
  if (row + 1 < batch && buffers.slot[row + 1] >> shift == node) return;
  RecomputeNode(replay.tree, level, node);
}

__global__ void Measure(ReplayView replay) {
  const NodeValue root = RootOf(replay.tree);
  if (threadIdx.x != 0) return;
  replay.counts->total = root.sum;
  replay.counts->least = root.least;
  replay.counts->most = root.most;
}

// A warp a node above the leaves; the counts hold what there was before.
__global__ void __launch_bounds__(kTreeThreads)
    InsertLeaves(ReplayView replay, uint64_t first, uint64_t count, uint64_t size) {
  const auto node =
      static_cast<uint32_t>(first / SumTreeView::kFanOut + blockIdx.x * kWarps + threadIdx.x / 32);
  const uint64_t begin = uint64_t{node} * SumTreeView::kFanOut;
  if (begin >= first + count) return;
  const TreeCounts& before = *replay.counts;
  for (uint64_t i = begin + threadIdx.x % 32; i < begin + SumTreeView::kFanOut; i += 32) {
    if (i < first || i >= first + count) continue;
    float leaf = LeafOf(replay.settings, replay.rows[i].td, replay.counts);
    if (leaf < 0.0f) {
      leaf =
          before.total > 0.0 ? static_cast<float>(before.total / static_cast<double>(size)) : 1.0f;
    }
    if (replay.settings.start_at_max) leaf = before.most > 0.0f ? before.most : 1.0f;
    replay.tree.leaves[i] = leaf;
  }
  __syncwarp();
  RecomputeNode(replay.tree, 0, node);
}

// A warp a node, `count` of them.
__global__ void __launch_bounds__(kTreeThreads)
    RecomputeNodes(ReplayView replay, uint32_t level, uint32_t first, uint32_t count) {
  const uint32_t node = blockIdx.x * kWarps + threadIdx.x / 32;
  if (node < count) RecomputeNode(replay.tree, level, first + node);
}

uint32_t Blocks(uint64_t warps) { return static_cast<uint32_t>((warps + kWarps - 1) / kWarps); }

// The levels [from, …) above the leaves [first, last].
cudaError_t Raise(const ReplayView& replay, uint32_t from, uint64_t first, uint64_t last,
                  cudaStream_t stream) {
  for (uint32_t level = from; level < replay.tree.level_count; ++level) {
    const uint32_t shift = SumTreeView::kFanOutBits * (level + 1);
    const auto begin = static_cast<uint32_t>(first >> shift);
    const auto count = static_cast<uint32_t>(last >> shift) - begin + 1;
    RecomputeNodes<<<Blocks(count), kTreeThreads, 0, stream>>>(replay, level, begin, count);
  }
  return cudaGetLastError();
}

}  // namespace

cudaError_t LaunchPriorities(const ReplayView& replay, const UpdateSettings& settings,
                             const UpdateBuffers& buffers, uint32_t index, cudaStream_t stream) {
  const uint32_t blocks = Blocks(settings.batch);
  SetLeaves<<<blocks, kTreeThreads, 0, stream>>>(replay, settings.batch, buffers, index);
  for (uint32_t level = 1; level < replay.tree.level_count; ++level) {
    RaiseRows<<<blocks, kTreeThreads, 0, stream>>>(replay, settings.batch, buffers, level, index);
  }
  return cudaGetLastError();
}

cudaError_t LaunchMeasure(const ReplayView& replay, cudaStream_t stream) {
  Measure<<<1, 32, 0, stream>>>(replay);
  return cudaGetLastError();
}

cudaError_t LaunchInsert(const ReplayView& replay, uint64_t first, uint64_t count, uint64_t size,
                         cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  Measure<<<1, 32, 0, stream>>>(replay);
  const uint64_t nodes =
      (first + count - 1) / SumTreeView::kFanOut - first / SumTreeView::kFanOut + 1;
  InsertLeaves<<<Blocks(nodes), kTreeThreads, 0, stream>>>(replay, first, count, size);
  return Raise(replay, 1, first, first + count - 1, stream);
}

cudaError_t LaunchRebuild(const ReplayView& replay, cudaStream_t stream) {
  return Raise(replay, 0, 0, replay.settings.capacity - 1, stream);
}

}  // namespace vixen::learner
