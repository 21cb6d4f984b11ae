// SPDX-License-Identifier: Apache-2.0
// The double-DQN loss (td_loss.h) of a block's rows, a warp a row.
#pragma once

#include <cstdint>

#include "kernels/env/settings.h"
#include "learner/device/update_buffers.h"

namespace vixen::learner {

// What the loss of a row is made of: of its Q values a lane holds those of the actions lane and
// lane + 32.
struct LossRow {
  float q[2], choose[2], next[2];
  float reward, discount, weight;
  uint32_t action;
};

__device__ __forceinline__ bool Allowed(const UpdateSettings& settings, uint32_t action) {
  return action < kernels::kActions && (settings.actions >> action & 1) != 0;
}

__device__ __forceinline__ LossRow LoadRow(const UpdateSettings& settings,
                                           const UpdateBuffers& buffers, uint32_t row) {
  const size_t plane = size_t{settings.rows} * DeviceNetwork::kHeadRows;
  const float* q = buffers.q + size_t{row} * DeviceNetwork::kHeadRows;
  LossRow loaded = {};
#pragma unroll
  for (uint32_t half = 0; half < 2; ++half) {
    const uint32_t a = threadIdx.x % 32 + 32 * half;
    if (a >= kernels::kActions) continue;
    loaded.q[half] = q[a];
    loaded.next[half] = q[2 * plane + a];
    loaded.choose[half] = settings.double_dqn ? q[plane + a] : loaded.next[half];
  }
  loaded.reward = buffers.reward[row];
  loaded.discount = buffers.discount[row];
  loaded.weight = buffers.weight[row];
  loaded.action = buffers.action[row];
  return loaded;
}

// Of lanes' values the one of an action.
__device__ __forceinline__ float OfAction(const float (&values)[2], uint32_t action) {
  const float low = __shfl_sync(~0u, values[0], static_cast<int>(action % 32));
  const float high = __shfl_sync(~0u, values[1], static_cast<int>(action % 32));
  return action < 32 ? low : high;
}

// The allowed action with the largest value, the lowest of equals; a warp together.
__device__ __forceinline__ uint32_t BestAction(const UpdateSettings& settings,
                                               const float (&values)[2]) {
  float best = -INFINITY;
  uint32_t action = ~0u;
#pragma unroll
  for (uint32_t half = 0; half < 2; ++half) {
    const uint32_t a = threadIdx.x % 32 + 32 * half;
    if (!Allowed(settings, a)) continue;
    if (values[half] > best || action == ~0u) {
      best = values[half];
      action = a;
    }
  }
  for (int offset = 16; offset > 0; offset /= 2) {
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

// Of one row; a warp together. Returns ∂loss/∂Q of the taken action.
__device__ __forceinline__ float RowLoss(const UpdateSettings& settings,
                                         const UpdateBuffers& buffers, uint32_t row,
                                         const LossRow& loaded, LossPart& part) {
  const uint32_t lane = threadIdx.x % 32;
  float sum = 0.0f, most = -INFINITY;
#pragma unroll
  for (uint32_t half = 0; half < 2; ++half) {
    if (!Allowed(settings, lane + 32 * half)) continue;
    sum += loaded.q[half];
    most = fmaxf(most, loaded.q[half]);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(~0u, sum, offset);
    most = fmaxf(most, __shfl_xor_sync(~0u, most, offset));
  }
  double y = loaded.reward;
  const float following = OfAction(loaded.next, BestAction(settings, loaded.choose));
  if (loaded.discount != 0.0f) y += static_cast<double>(loaded.discount) * following;
  const float taken = OfAction(loaded.q, loaded.action);
  const double delta = taken - y, weight = loaded.weight;
  const double size = fabs(delta), limit = settings.huber_delta;
  const double clamped = delta > limit ? limit : delta < -limit ? -limit : delta;
  part.loss += weight * (size <= limit ? 0.5 * delta * delta : limit * (size - 0.5 * limit));
  part.abs_td += size;
  part.q += sum;
  part.max_q = most > part.max_q ? most : part.max_q;
  part.clipped += size > limit ? 1.0 : 0.0;
  part.weight += weight;
  part.weight_squares += weight * weight;
  if (lane == 0) {
    buffers.abs_td[row] = static_cast<float>(size);
    buffers.taken_q[row] = taken;
  }
  return static_cast<float>(weight * clamped / settings.batch);
}

// Rows [first, first + kRows) by `kWarps` warps: store(row of the block, column, value) for the
// gradient of the head's sums, zeros for rows of padding; each warp's sums into `parts` [kWarps] in
// shared memory. A barrier must follow.
template <int kRows, int kWarps, typename Store>
__device__ __forceinline__ void LossOfRows(const UpdateSettings& settings,
                                           const UpdateBuffers& buffers, uint32_t first,
                                           LossPart* parts, Store&& store) {
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  LossPart part = {};
  part.max_q = -INFINITY;
  // Several at a time: none waits for the memory alone.
  constexpr uint32_t kTogether = kRows / kWarps < 4 ? kRows / kWarps : 4;
  for (uint32_t from = warp; from < kRows; from += kTogether * kWarps) {
    LossRow loaded[kTogether];
#pragma unroll
    for (uint32_t k = 0; k < kTogether; ++k) {
      const uint32_t row = first + from + k * kWarps;
      if (row < settings.batch) loaded[k] = LoadRow(settings, buffers, row);
    }
#pragma unroll
    for (uint32_t k = 0; k < kTogether; ++k) {
      const uint32_t i = from + k * kWarps, row = first + i;
      const bool real = row < settings.batch;
      const float g = real ? RowLoss(settings, buffers, row, loaded[k], part) : 0.0f;
      const uint32_t taken = real ? loaded[k].action : 0;
      // Q_a = V + A_a − mean A.
      const float others = -g / static_cast<float>(kernels::kActions);
      for (uint32_t c = lane; c < DeviceNetwork::kHeadRows; c += 32) {
        float x = 0.0f;
        if (c == 0) x = g;
        if (c > 0 && c <= kernels::kActions) x = c - 1 == taken ? g + others : others;
        store(i, c, x);
      }
    }
  }
  if (lane == 0) parts[warp] = part;
}

// The block's sums from its warps', by one thread.
template <int kWarps>
__device__ __forceinline__ void FoldLoss(const UpdateBuffers& buffers, const LossPart* parts) {
  LossPart part = parts[0];
  for (int w = 1; w < kWarps; ++w) {
    part.loss += parts[w].loss;
    part.abs_td += parts[w].abs_td;
    part.q += parts[w].q;
    part.max_q = parts[w].max_q > part.max_q ? parts[w].max_q : part.max_q;
    part.clipped += parts[w].clipped;
    part.weight += parts[w].weight;
    part.weight_squares += parts[w].weight_squares;
  }
  buffers.loss_part[blockIdx.x] = part;
}

}  // namespace vixen::learner
