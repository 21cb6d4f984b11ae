// SPDX-License-Identifier: Apache-2.0
// The sequential phase of a warp of a tile kernel: the step loop of its 16 slots around the
// network. `Pass` is how the network is computed: state operands → TileQ.
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
  float4 prices = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
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

}  // namespace vixen::kernels
