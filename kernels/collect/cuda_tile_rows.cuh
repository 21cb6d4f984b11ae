// SPDX-License-Identifier: Apache-2.0
// What a warp of a tile kernel does with its 16 rows around the networks: the step loop of slots,
// and the last part of finished rows. `Pass` is how a network is computed: state operands → TileQ.
#pragma once

#include <cstdint>

#include "kernels/collect/cuda_launch.h"
#include "kernels/collect/cuda_operand.cuh"
#include "kernels/collect/cuda_rows.cuh"
#include "kernels/collect/cuda_tile_q.cuh"
#include "kernels/env/step.h"

namespace vixen::kernels {

__device__ __forceinline__ void PrefetchL2(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}
template <Operand kOperand>
__device__ __forceinline__ void PrefetchState(const DeviceMarket& market, size_t bar) {
  if constexpr (kOperand == Operand::kFp16) {
    PrefetchL2(market.packed + bar * 64);
  } else {
    const float* row = market.features + bar * market.stride;
    PrefetchL2(row);
    PrefetchL2(row + market.stride - 1);
  }
}

// All threads of a block copy a network's constants; a barrier must follow.
template <typename Constants>
__device__ __forceinline__ void LoadConstants(const std::byte* from, Constants& to) {
  static_assert(sizeof(Constants) % 4 == 0);
  for (uint32_t i = threadIdx.x; i < sizeof(Constants) / 4; i += blockDim.x) {
    reinterpret_cast<uint32_t*>(&to)[i] = reinterpret_cast<const uint32_t*>(from)[i];
  }
}

// Shared memory of a block's slots, `kRows` of them.
template <int kRows>
struct SlotMemory {
  SlotState slots[kRows];
  // Before a pass bar as bits and portfolio features; through it prices of the step's bar.
  float4 current[kRows];
  // Where a fresh episode would start; the highest bit: the bar after the step's is a last one.
  uint32_t starts[kRows];
  float mask[tile::kOutputs];
};
inline constexpr uint32_t kNextIsLast = 0x80000000u;

__device__ __forceinline__ void WriteQ(const LaunchArguments& launch, const TileQ& q, int r,
                                       uint32_t slot, uint32_t step, bool active, int quad) {
  if (slot >= launch.episodes) return;
  float* out = launch.rows.q + (static_cast<size_t>(slot) * launch.steps + step) * kActions;
#pragma unroll
  for (int j = 0; j < 12; ++j) {
    const int action = 8 * (j / 2) + 2 * quad + j % 2;
    if (action < kActions) out[action] = active ? q.base[r] + q.advantage[r][j] : 0.0f;
  }
}

// A thread's part in its warp's 16 slots of a tile. Read anew where it is needed: held in registers
// through a network pass it would cost more.
struct SlotPlace {
  int quad;
  int low;        // row in the block of index 0; index 1 is low + 8
  int mine;       // lanes 0 and 1 of a quad keep the rules of its two rows
  uint32_t slot;  // of `mine`
  bool ruled;     // keeps the rules of a slot that is there
};
__device__ __forceinline__ SlotPlace PlaceIn(const LaunchArguments& launch, uint32_t first_slot) {
  uint32_t thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  SlotPlace place;
  place.quad = thread % 4;
  place.low = thread / 32 * 16 + thread % 32 / 4;
  place.mine = place.low + 8 * (place.quad & 1);
  place.slot = first_slot + place.mine;
  place.ruled = place.quad < 2 && place.slot < launch.episodes;
  return place;
}

template <int kRows>
__device__ __forceinline__ void BeginSlots(const LaunchArguments& launch, SlotMemory<kRows>& shared,
                                           uint32_t first_slot) {
  const SlotPlace place = PlaceIn(launch, first_slot);
  if (place.quad >= 2) return;
  float portfolio[kPortfolioFeatures] = {1.0f, 0.0f, 0.0f};
  uint32_t bar = launch.market.view.begin;
  if (place.ruled) {
    SlotState& slot = shared.slots[place.mine];
    slot = launch.slots[place.slot];
    bar = slot.bar;
    const float price = launch.market.view.targets[4 * static_cast<size_t>(bar)];
    ObservePortfolio(launch.rules, slot, price, portfolio);
  }
  shared.current[place.mine] =
      make_float4(__uint_as_float(bar), portfolio[0], portfolio[1], portfolio[2]);
}

// The present states. What the rules will read of the market is read here as well, so that its way
// is one with the states'; what the next step may read begins to travel to the L2 cache.
template <Operand kOperand, int kRows>
__device__ __forceinline__ StateFragment<kOperand> PresentStates(const LaunchArguments& launch,
                                                                 SlotMemory<kRows>& shared,
                                                                 float state_scale,
                                                                 uint32_t first_slot) {
  const SlotPlace place = PlaceIn(launch, first_slot);
  const MarketView& market = launch.market.view;
  const auto row = [&](int r) {
    const float4 now = shared.current[place.low + 8 * r];
    const float portfolio[kPortfolioFeatures] = {now.y, now.z, now.w};
    return LoadStateRow<kOperand>(launch.market, __float_as_uint(now.x), portfolio, place.quad);
  };
  const StateRow<kOperand> low = row(0);
  const StateRow<kOperand> high = row(1);
  float4 prices;
  uint32_t start = 0;
  bool next_is_last = false;
  if (place.ruled) {
    const SlotState& slot = shared.slots[place.mine];
    const uint32_t bar = slot.bar;
    prices = *reinterpret_cast<const float4*>(market.targets + 4 * static_cast<size_t>(bar));
    next_is_last = IsLastBar(market, bar + 1);
    start = StartBar(market, NextRandom(NextRandom(NextRandom(slot.rng))));
    PrefetchState<kOperand>(launch.market, static_cast<size_t>(bar) + 1);
    PrefetchL2(market.targets + 4 * (static_cast<size_t>(bar) + 1));
    PrefetchState<kOperand>(launch.market, start);
    PrefetchL2(market.targets + 4 * static_cast<size_t>(start));
  }
  __syncwarp();
  if (place.ruled) {
    shared.current[place.mine] = prices;
    shared.starts[place.mine] = start | (next_is_last ? kNextIsLast : 0);
  }
  return FragmentOf<kOperand>(low, high, state_scale);
}

// Choice, rules and row of one step.
template <int kRows>
__device__ __forceinline__ void StepSlots(const LaunchArguments& launch, SlotMemory<kRows>& shared,
                                          const TileQ& q, uint32_t first_slot, uint32_t step) {
  const SlotPlace place = PlaceIn(launch, first_slot);
  const int quad = place.quad;
  const int lane = threadIdx.x % 32;
  SlotState& slot = shared.slots[place.mine];
  const Greedy greedy[2] = {QuadGreedy(q, 0, shared.mask, launch.allowed, quad),
                            QuadGreedy(q, 1, shared.mask, launch.allowed, quad)};
  const size_t row = static_cast<size_t>(place.slot) * launch.steps + step;
  Choice choice;
  bool active = false;
  if (place.ruled) {
    active = slot.active != 0;
    const int scripted = launch.scripted != nullptr ? launch.scripted[row] : -1;
    if (active) {
      choice = ChooseAction(launch.rules.settings, launch.epsilon, greedy[quad & 1].action,
                            scripted, slot.rng);
    }
  }
  float taken[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int action = __shfl_sync(kAllLanes, choice.action, (lane & ~3) | r);
    taken[r] = q.base[r] + QuadAdvantage(q, r, action, quad);
  }
  if (launch.rows.q != nullptr) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const bool is_active = __shfl_sync(kAllLanes, active, (lane & ~3) | r);
      WriteQ(launch, q, r, first_slot + place.low + 8 * r, step, is_active, quad);
    }
  }
  if (!place.ruled) return;
  StepRecord record;
  float portfolio[kPortfolioFeatures] = {1.0f, 0.0f, 0.0f};
  if (active) {
    const float4 prices = shared.current[place.mine];
    const uint32_t start = shared.starts[place.mine];
    const StepBar bar = {prices.x, prices.y, prices.z, prices.w, (start & kNextIsLast) != 0};
    SlotRegisters<SlotWindow> registers(slot, SlotWindow{slot.category_window});
    record = AdvanceSlot(
        launch.rules, bar, StartStep(launch.rules, bar, registers), choice,
        TermsOf(launch.rules, choice.action), step,
        [start](uint32_t) { return start & ~kNextIsLast; }, registers);
    registers.Store(slot);
    // next_close is the next bar's close bit for bit, so s' is the next step's state as well.
    if ((record.flags & (kFlagTerminated | kFlagTruncated)) == 0) {
#pragma unroll
      for (int i = 0; i < kPortfolioFeatures; ++i) portfolio[i] = record.next_portfolio[i];
    }
  }
  WriteRecord(launch, row, record, quad == 0 ? taken[0] : taken[1]);
  shared.current[place.mine] =
      make_float4(__uint_as_float(slot.bar), portfolio[0], portfolio[1], portfolio[2]);
}

// All steps of the tile of slots first_slot …; the warp's 16 rows belong to it alone.
template <Operand kOperand, int kRows, typename Pass>
__device__ __forceinline__ void RunSlots(const LaunchArguments& launch, SlotMemory<kRows>& shared,
                                         float state_scale, uint32_t first_slot, const Pass& pass) {
  BeginSlots(launch, shared, first_slot);
#pragma unroll 1
  for (uint32_t step = 0; step < launch.steps; ++step) {
    __syncwarp();
    const TileQ q = pass(PresentStates<kOperand>(launch, shared, state_scale, first_slot));
    StepSlots(launch, shared, q, first_slot, step);
  }
  const SlotPlace place = PlaceIn(launch, first_slot);
  if (place.ruled) launch.slots[place.slot] = shared.slots[place.mine];
}

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
