// SPDX-License-Identifier: Apache-2.0
// The batched phase of a warp of a tile kernel: its 16 rows of a finished launch through curiosity
// and target network to reward and TD error.
#pragma once

#include <cstdint>

#include "kernels/collect/cuda_tile_rows.cuh"

namespace vixen::kernels {

// The quad's row `r` (0 or 1) of a tile that begins at `first`; the last row for those beyond it.
__device__ __forceinline__ uint64_t RowOf(const LaunchArguments& launch, uint64_t first, int r) {
  const uint64_t rows = static_cast<uint64_t>(launch.episodes) * launch.steps;
  return min(first + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + 8 * r, rows - 1);
}
struct RowBars {
  uint32_t bar[2];
};
__device__ __forceinline__ RowBars BarsFrom(const LaunchArguments& launch, uint64_t first) {
  return {{launch.rows.bar[RowOf(launch, first, 0)], launch.rows.bar[RowOf(launch, first, 1)]}};
}

// What the tile from `first` on reads begins to travel to the L2 cache.
template <Operand kOperand>
__device__ __forceinline__ void PrefetchRows(const LaunchArguments& launch, const RowBars& bars,
                                             uint64_t first, int quad) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const uint64_t row = RowOf(launch, first, r);
    const size_t bar = bars.bar[r];
    if (quad == 0) PrefetchState<kOperand>(launch.market, bar);
    if (quad == 1) PrefetchState<kOperand>(launch.market, bar + 1);
    if (quad == 2) {
      if constexpr (kOperand == Operand::kFp16) {
        PrefetchL2(launch.market.features + (bar + 1) * launch.market.stride);
      }
      PrefetchL2(launch.rows.next_portfolio + row * kPortfolioFeatures);
    }
    if (quad == 3) {
      PrefetchL2(launch.scratch + row);
      PrefetchL2(launch.rows.portfolio + row * kPortfolioFeatures);
    }
  }
}

// Operands of s (`ahead` 0) or s' (1) of both rows.
template <Operand kOperand>
__device__ __forceinline__ StateFragment<kOperand> StateOf(const LaunchArguments& launch,
                                                           const RowBars& bars, uint64_t first,
                                                           uint32_t ahead, const float* portfolio,
                                                           float state_scale, int quad) {
  const auto row = [&](int r) {
    return LoadStateRow<kOperand>(launch.market, bars.bar[r] + ahead,
                                  portfolio + RowOf(launch, first, r) * kPortfolioFeatures, quad);
  };
  return FragmentOf<kOperand>(row(0), row(1), state_scale);
}

// A quad lane's columns 8·j + 2·quad + u of s'[0 … 32): what the curiosity model predicts.
struct SeenRow {
  float2 pair[4];
};
__device__ __forceinline__ SeenRow LoadSeen(const LaunchArguments& launch, uint32_t bar,
                                            uint64_t row, int quad) {
  const uint32_t features = launch.market.view.feature_count;
  const float* from = launch.market.features + static_cast<size_t>(bar) * launch.market.stride;
  SeenRow seen;
  // Rows are at least 32 floats wide, padded by zeros.
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    seen.pair[j] = *reinterpret_cast<const float2*>(from + 8 * j + 2 * quad);
  }
  if (features < 32) {
    const float* portfolio = launch.rows.next_portfolio + row * kPortfolioFeatures;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const uint32_t column = 8 * j + 2 * quad;
      if (column >= features) seen.pair[j].x = portfolio[column - features];
      if (column + 1 >= features) seen.pair[j].y = portfolio[column + 1 - features];
    }
  }
  return seen;
}

// Mean squared error of the curiosity model's sums of layer 1, for a quad's two rows.
__device__ __forceinline__ void CuriosityError(const tile::CuriosityConstants& constants,
                                               const float (&out)[16], const SeenRow (&seen)[2],
                                               int quad, float (&error)[2]) {
  const float scale = constants.scale[1];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float2 bias = *reinterpret_cast<const float2*>(constants.bias1 + 8 * j + 2 * quad);
      const float first = fmaf(out[4 * j + 2 * r], scale, bias.x) - seen[r].pair[j].x;
      const float second = fmaf(out[4 * j + 2 * r + 1], scale, bias.y) - seen[r].pair[j].y;
      sum += first * first;
      sum += second * second;
    }
    error[r] = QuadSum(sum) / 32.0f;
  }
}

// Shared memory for `kRows` finished rows: what is known before the network's pass waits here,
// registers are short in it.
template <int kRows>
struct FinishMemory {
  float mask[tile::kOutputs];
  RowScratch scratch[kRows];
  float error[kRows];     // of the curiosity model
  int16_t action[kRows];  // double DQN: the online network's
};

// Rows first …, 16 a warp. `next`: their bars, replaced by those of the rows from `after` on.
// `predict(state, category, out)` gives the sums of the curiosity model's last layer and its
// constants, `pass(network, state)` Q of the target (0) or the online (1) network;
// `finish_copies` returns when this thread's cp.async from before the last pass have landed.
template <Operand kOperand, int kRows, typename Predict, typename Pass, typename Wait>
__device__ __forceinline__ void FinishTile(const LaunchArguments& launch,
                                           FinishMemory<kRows>& shared, float state_scale,
                                           uint64_t first, uint64_t after, RowBars& next,
                                           bool curious, const Predict& predict, const Pass& pass,
                                           const Wait& finish_copies) {
  const int quad = threadIdx.x % 4;
  const int low = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
  const BatchView& view = launch.rows;
  const RowBars bars = next;
  next = BarsFrom(launch, after);
  {
    // A quad's lanes bring the two halves of its rows' scratch.
    const int r = quad / 2;
    CopyAsync16(
        reinterpret_cast<float4*>(&shared.scratch[low + 8 * r]) + quad % 2,
        reinterpret_cast<const float4*>(launch.scratch + RowOf(launch, first, r)) + quad % 2);
  }
  if (curious) {
    const auto state = StateOf<kOperand>(launch, bars, first, 0, view.portfolio, state_scale, quad);
    const int category[2] = {CategoryOf(view.action[RowOf(launch, first, 0)]),
                             CategoryOf(view.action[RowOf(launch, first, 1)])};
    float out[16];
    const SeenRow seen[2] = {LoadSeen(launch, bars.bar[0] + 1, RowOf(launch, first, 0), quad),
                             LoadSeen(launch, bars.bar[1] + 1, RowOf(launch, first, 1), quad)};
    const tile::CuriosityConstants* constants = predict(state, category, out);
    float error[2];
    CuriosityError(*constants, out, seen, quad, error);
    if (quad < 2) shared.error[low + 8 * quad] = quad == 0 ? error[0] : error[1];
  }
  PrefetchRows<kOperand>(launch, next, after, quad);
  const bool is_double = launch.rules.settings.double_dqn;
  // One copy of the pass in the code: first the online network where double DQN asks for it.
#pragma unroll 1
  for (int network = is_double ? 1 : 0; network >= 0; --network) {
    const auto state =
        StateOf<kOperand>(launch, bars, first, 1, view.next_portfolio, state_scale, quad);
    const TileQ q = pass(network, state);
    float next_q[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (network == 1 || !is_double) {
        const Greedy greedy = QuadGreedy(q, r, shared.mask, launch.allowed, quad);
        if (network == 1 && quad == 0) shared.action[low + 8 * r] = greedy.action;
        next_q[r] = q.base[r] + greedy.advantage;
      } else {
        next_q[r] = q.base[r] + QuadAdvantage(q, r, shared.action[low + 8 * r], quad);
      }
    }
    if (network == 1) continue;
    finish_copies();
    __syncwarp();
    const int mine = low + 8 * (quad & 1);
    const uint64_t row = first + mine;
    if (quad < 2 && row < static_cast<uint64_t>(launch.episodes) * launch.steps) {
      FinishRow(launch, row, view.flags[row], shared.scratch[mine],
                quad == 0 ? next_q[0] : next_q[1], curious ? shared.error[mine] : 0.0f, curious);
    }
  }
}

}  // namespace vixen::kernels
