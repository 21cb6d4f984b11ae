// SPDX-License-Identifier: Apache-2.0
// From the head's sums to Q, and of Q what the loss needs.
#pragma once

#include <cstdint>

#include "kernels/env/settings.h"
#include "learner/device/update_buffers.h"

namespace vixen::learner {

inline constexpr float kLeakySlope = 0.01f;

// Floats from row to row of [rows, V and A_0 …] in shared memory: odd, for other banks.
inline constexpr uint32_t kValueStride = 49;

// A row of the minibatch: of s, of the bootstrap states by the online network, or by the target.
struct QRow {
  uint32_t part, row;
};

__device__ __forceinline__ bool Allowed(const UpdateSettings& settings, uint32_t action) {
  return action < kernels::kActions && (settings.actions >> action & 1) != 0;
}

// The allowed action with the largest value, the lowest of equals, from those of kLanes lanes.
template <uint32_t kLanes>
__device__ __forceinline__ uint32_t BestOfLanes(float best, uint32_t action) {
#pragma unroll
  for (uint32_t offset = kLanes / 2; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(~0u, best, offset);
    const uint32_t its = __shfl_xor_sync(~0u, action, offset);
    if (its == ~0u) continue;
    if (action == ~0u || other > best || (other == best && its < action)) {
      best = other;
      action = its;
    }
  }
  return action;
}

// Of `rows` rows of V and A_a in shared memory, row_of(i) the i-th, action_of(i) the action taken:
// Q_a = V + A_a − mean A, of which the loss needs the taken one, sum and largest for s, the best
// action of the bootstrap state and the target's Q. kLanes neighbouring lanes a row; a barrier must
// have come before, the rows of a warp are of one part.
template <uint32_t kThreads, uint32_t kLanes, typename RowOf, typename ActionOf>
__device__ __forceinline__ void StoreQ(const UpdateSettings& settings, const UpdateBuffers& buffers,
                                       float* values, uint32_t rows, const RowOf& row_of,
                                       const ActionOf& action_of) {
  constexpr uint32_t kActions = kernels::kActions, kEach = (kActions + kLanes - 1) / kLanes;
  const uint32_t lane = threadIdx.x % kLanes;
  for (uint32_t from = threadIdx.x / 32 * 32 / kLanes; from < rows; from += kThreads / kLanes) {
    const uint32_t i = min(from + threadIdx.x % 32 / kLanes, rows - 1);
    float* const value = values + i * kValueStride;
    const QRow at = row_of(i);
    const uint32_t taken = at.part == 0 ? action_of(i) : 0;
    float advantage[kEach], mean = 0.0f;
#pragma unroll
    for (uint32_t k = 0; k < kEach; ++k) {
      const uint32_t a = lane + k * kLanes;
      advantage[k] = a < kActions ? value[1 + a] : 0.0f;
      mean += advantage[k];
    }
#pragma unroll
    for (uint32_t offset = kLanes / 2; offset > 0; offset /= 2) {
      mean += __shfl_xor_sync(~0u, mean, offset);
    }
    const float base = value[0] - mean / static_cast<float>(kActions);
    float sum = 0.0f, most = -INFINITY, of_taken = 0.0f;
    uint32_t best = ~0u;
#pragma unroll
    for (uint32_t k = 0; k < kEach; ++k) {
      const uint32_t a = lane + k * kLanes;
      const float q = base + advantage[k];
      if (a == taken) of_taken = q;
      if (!Allowed(settings, a)) continue;
      sum += q;
      if (best == ~0u || q > most) {
        most = q;
        best = a;
      }
    }
    if (at.part == 0) {
#pragma unroll
      for (uint32_t offset = kLanes / 2; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(~0u, sum, offset);
        most = fmaxf(most, __shfl_xor_sync(~0u, most, offset));
      }
      if (lane == taken % kLanes) buffers.taken_q[at.row] = of_taken;
      if (lane == 0) {
        buffers.sum_q[at.row] = sum;
        buffers.most_q[at.row] = most;
      }
      continue;
    }
    __syncwarp();
    if (lane == 0) value[0] = base;
    if (at.part == 2 && settings.double_dqn) continue;
    best = BestOfLanes<kLanes>(most, best);
    if (lane == 0) buffers.best[at.row] = static_cast<uint8_t>(best);
  }
  __syncthreads();
  if (row_of(0).part != 2) return;
  float* const to = buffers.next_q + size_t{row_of(0).row} * DeviceNetwork::kHeadRows;
  for (uint32_t i = threadIdx.x; i < rows * kActions; i += kThreads) {
    const uint32_t row = i / kActions, a = i % kActions;
    const float* const value = values + row * kValueStride;
    to[row * DeviceNetwork::kHeadRows + a] = value[0] + value[1 + a];
  }
}

}  // namespace vixen::learner
