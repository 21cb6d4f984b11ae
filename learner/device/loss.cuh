// SPDX-License-Identifier: Apache-2.0
// The double-DQN loss (td_loss.h) of a block's rows, from what the forward passes left of their Q:
// by the lanes of the last warp, which has the time to add up the statistics when the others go on.
#pragma once

#include <cstdint>

#include "kernels/env/settings.h"
#include "learner/device/update_buffers.h"

namespace vixen::learner {

// In shared memory.
template <int kRows>
struct BlockLoss {
  float gradient[kRows];  // ∂loss/∂Q of the taken action
  uint32_t action[kRows];
};

// Of one row.
struct LossRow {
  uint32_t action = 0, best = 0;
  float reward = 0, discount = 0, weight = 0, taken = 0, sum = 0, most = 0;
};

// Of a lane of the last warp: rows lane, lane + 32, … of the block.
template <int kRows>
struct LossRows {
  static constexpr uint32_t kEach = (kRows + 31) / 32;
  LossRow rows[kEach];
};

template <int kThreads>
__device__ __forceinline__ bool InLastWarp() {
  return threadIdx.x >= kThreads - 32;
}

// Whether a row of the block is one of the minibatch.
template <int kRows>
__device__ __forceinline__ bool IsRow(const UpdateSettings& settings, uint32_t first, uint32_t i) {
  return i < kRows && first + i < settings.batch;
}

template <int kRows, int kThreads>
__device__ __forceinline__ LossRows<kRows> LoadLossRows(const UpdateSettings& settings,
                                                        const UpdateBuffers& buffers,
                                                        uint32_t first) {
  LossRows<kRows> loaded;
  if (!InLastWarp<kThreads>()) return loaded;
#pragma unroll
  for (uint32_t k = 0; k < LossRows<kRows>::kEach; ++k) {
    const uint32_t i = threadIdx.x % 32 + 32 * k, row = first + i;
    if (!IsRow<kRows>(settings, first, i)) continue;
    LossRow& of = loaded.rows[k];
    of.best = buffers.best[row];
    of.discount = buffers.discount[row];
    of.action = buffers.action[row];
    of.reward = buffers.reward[row];
    of.weight = buffers.weight[row];
    of.taken = buffers.taken_q[row];
    of.sum = buffers.sum_q[row];
    of.most = buffers.most_q[row];
  }
  return loaded;
}

// Adds a row's figures to `part`; returns ∂loss/∂Q of the taken action, and |td|.
__device__ __forceinline__ float2 RowLoss(const UpdateSettings& settings, const LossRow& of,
                                          float following, LossPart& part) {
  double y = of.reward;
  if (of.discount != 0.0f) y += static_cast<double>(of.discount) * following;
  const double delta = of.taken - y, weight = of.weight;
  const double size = fabs(delta), limit = settings.huber_delta;
  const double clamped = delta > limit ? limit : delta < -limit ? -limit : delta;
  part.loss += weight * (size <= limit ? 0.5 * delta * delta : limit * (size - 0.5 * limit));
  part.abs_td += size;
  part.q += of.sum;
  part.max_q = of.most > part.max_q ? of.most : part.max_q;
  part.clipped += size > limit ? 1.0 : 0.0;
  part.weight += weight;
  part.weight_squares += weight * weight;
  return make_float2(static_cast<float>(weight * clamped / settings.batch),
                     static_cast<float>(size));
}

// The figures of a lane's rows; what the gradient is made of goes to `loss`.
template <int kRows, int kThreads>
__device__ __forceinline__ LossPart LossOfRows(const UpdateSettings& settings,
                                               const UpdateBuffers& buffers, uint32_t first,
                                               const LossRows<kRows>& loaded,
                                               BlockLoss<kRows>& loss) {
  LossPart part = {};
  part.max_q = -INFINITY;
  if (!InLastWarp<kThreads>()) return part;
  constexpr uint32_t kEach = LossRows<kRows>::kEach;
  float following[kEach];
#pragma unroll
  for (uint32_t k = 0; k < kEach; ++k) {
    const uint32_t i = threadIdx.x % 32 + 32 * k;
    if (!IsRow<kRows>(settings, first, i)) continue;
    following[k] =
        buffers.next_q[size_t{first + i} * DeviceNetwork::kHeadRows + loaded.rows[k].best];
  }
#pragma unroll
  for (uint32_t k = 0; k < kEach; ++k) {
    const uint32_t i = threadIdx.x % 32 + 32 * k;
    if (i >= kRows) continue;
    float gradient = 0.0f;
    if (IsRow<kRows>(settings, first, i)) {
      const float2 of_row = RowLoss(settings, loaded.rows[k], following[k], part);
      gradient = of_row.x;
      buffers.abs_td[first + i] = of_row.y;
    }
    loss.gradient[i] = gradient;
    loss.action[i] = loaded.rows[k].action;
  }
  return part;
}

// After a barrier: store(row of the block, column, value) for the gradient of the head's sums,
// zeros for rows of padding. Another barrier must follow.
template <int kRows, int kThreads, typename Store>
__device__ __forceinline__ void StoreLossGradient(const BlockLoss<kRows>& loss,
                                                  const Store& store) {
  constexpr uint32_t kColumns = DeviceNetwork::kHeadRows;
  for (uint32_t i = threadIdx.x; i < kRows * kColumns; i += kThreads) {
    const uint32_t row = i / kColumns, column = i % kColumns;
    // Q_a = V + A_a − mean A.
    const float g = loss.gradient[row], others = -g / static_cast<float>(kernels::kActions);
    float x = 0.0f;
    if (column == 0) x = g;
    if (column > 0 && column <= kernels::kActions) {
      x = column - 1 == loss.action[row] ? g + others : others;
    }
    store(row, column, x);
  }
}

__device__ __forceinline__ double SumOfLanes(double x) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(~0u, x, offset);
  return x;
}
__device__ __forceinline__ double MostOfLanes(double x) {
  for (int offset = 16; offset > 0; offset /= 2) {
    const double other = __shfl_xor_sync(~0u, x, offset);
    if (other > x) x = other;
  }
  return x;
}

// The block's sums, by the last warp.
template <int kThreads>
__device__ __forceinline__ void StoreLossPart(const UpdateBuffers& buffers,
                                              const LossPart& of_lane) {
  if (!InLastWarp<kThreads>()) return;
  const LossPart part = {.loss = SumOfLanes(of_lane.loss),
                         .abs_td = SumOfLanes(of_lane.abs_td),
                         .q = SumOfLanes(of_lane.q),
                         .max_q = MostOfLanes(of_lane.max_q),
                         .clipped = SumOfLanes(of_lane.clipped),
                         .weight = SumOfLanes(of_lane.weight),
                         .weight_squares = SumOfLanes(of_lane.weight_squares)};
  if (threadIdx.x % 32 == 0) buffers.loss_part[blockIdx.x] = part;
}

}  // namespace vixen::learner
