// SPDX-License-Identifier: Apache-2.0
// The resident kernel's helpers where a block carries up to eight episodes: each of the four warps
// has two, whose slots live in registers of its first two lanes. They bring the next states'
// features in while the matrix warps are busy, then choose and step.
#pragma once

#include "kernels/collect/cuda_resident_rows.cuh"
#include "kernels/env/slot_registers.h"

namespace vixen::kernels::resident {

inline constexpr int kEpisodesPerHelper = 2;
inline constexpr int kManyEpisodes = kHelperWarps * kEpisodesPerHelper;

struct RulesMemory {
  StagedRecord records[kManyEpisodes];
  uint8_t windows[kManyEpisodes][kDiversityWindow];
  alignas(16) uint32_t touched[kHelperWarps][4];  // where prefetches land, one over the other
};

// Of the block's episodes the first `episodes` are there; the first is slot `first_slot`.
template <typename Memory>
class RulesWarp {
 public:
  __device__ RulesWarp(const LaunchArguments& launch, Memory& memory, RulesMemory& mine,
                       uint32_t first_slot, int episodes, int helper, int lane)
      : launch_(launch),
        memory_(memory),
        mine_(mine),
        lane_(lane),
        first_episode_(kEpisodesPerHelper * helper),
        episode_(first_episode_ + min(lane, kEpisodesPerHelper - 1)),
        real_(lane < kEpisodesPerHelper && episode_ < episodes),
        episodes_(episodes),
        first_slot_(first_slot),
        slot_index_(episode_ < episodes ? first_slot + episode_ : 0),
        writer_(launch, lane) {
    const SlotState& start = launch.slots[slot_index_];
    slot_ = Slot(start, SlotWindow{mine.windows[episode_]});
    if (!real_) slot_.active = 0;
    if (lane >= kEpisodesPerHelper) return;
    for (int i = 0; i < kDiversityWindow; ++i) {
      mine.windows[episode_][i] = start.category_window[i];
    }
    float portfolio[kPortfolioFeatures];
    ObservePortfolio(launch.rules, slot_, launch.market.view.targets[4 * size_t{slot_.bar}],
                     portfolio);
    memory.portfolio[episode_] = make_float4(portfolio[0], portfolio[1], portfolio[2], 0.0f);
  }

  // The state columns of the first step.
  __device__ void PutFirstStates() {
#pragma unroll
    for (int i = 0; i < kEpisodesPerHelper; ++i) {
      const uint32_t bar = __shfl_sync(kAllLanes, slot_.bar, i);
      if (lane_ < 16) {
        PutFeatures(memory_, 0, first_episode_ + i, lane_,
                    LoadFeatures(launch_.market, bar, lane_));
      }
    }
  }

  __device__ void Run() {
#pragma unroll 1
    for (uint32_t step = 0; step < launch_.steps; ++step) {
      TouchNext();
      if (step > 0) WriteRows(step - 1);
      BringNext(step);
      PassMatrix();
      ArriveWithStates<kManyEpisodes>();
      Choose(step);
      Step(step);
      SyncBlock();  // the next state is there
    }
    WriteRows(launch_.steps - 1);
    WaitCopies();
    if (!real_) return;
    SlotState& out = launch_.slots[slot_index_];
    slot_.Store(out);
    for (int i = 0; i < kDiversityWindow; ++i) {
      out.category_window[i] = mine_.windows[episode_][i];
    }
  }

 private:
  using Slot = SlotRegisters<SlotWindow>;

  // What BringNext will read begins to travel to L1: targets and `last` of the lane's episode, of
  // both states' features two lines each.
  __device__ __forceinline__ void TouchNext() {
    const MarketView& market = launch_.market.view;
    const uint32_t bar = __shfl_sync(kAllLanes, slot_.bar, lane_ % kEpisodesPerHelper);
    const uint32_t rng = __shfl_sync(kAllLanes, slot_.rng, lane_ % kEpisodesPerHelper);
    const uint32_t drawn = DrawnBar(market, NextRandom(NextRandom(NextRandom(rng))));
    uint32_t* to = mine_.touched[first_episode_ / kEpisodesPerHelper];
    const int what = lane_ / kEpisodesPerHelper;
    const uint32_t state = what % 2 == 0 ? bar + 1 : drawn;
    if (what < 4) {
      const uint32_t column = min(32u * (what / 2), launch_.market.stride - 4);
      TouchL1(to, launch_.market.features + size_t{state} * launch_.market.stride + column, true);
    }
    if (what == 4) TouchL1(to, market.targets + 4 * size_t{bar}, true);
    if (what == 5 || what == 6) {
      TouchL1(to, market.last + (what == 5 ? bar + 1 : drawn) / 4 * 4, false);
    }
  }

  // Reads what this step's rules need and the next step's states, and draws.
  __device__ __forceinline__ void BringNext(uint32_t step) {
    if (lane_ < kEpisodesPerHelper) {
      rng_ = slot_.rng;
      choice_ = DrawChoice(launch_, slot_index_, step, rng_);
      bar_ = ReadAnyBar(launch_.market.view, slot_.bar);
      start_ = StartBar(launch_.market.view, NextRandom(rng_));
      // The portfolio features of the present state are those that the networks see.
      const float4 portfolio = memory_.portfolio[episode_];
      begun_ = {{portfolio.x, portfolio.y, portfolio.z}, EquityAt(slot_, bar_.close)};
    }
#pragma unroll
    for (int i = 0; i < kEpisodesPerHelper; ++i) {
      const uint32_t goes_on = __shfl_sync(kAllLanes, slot_.bar, i) + 1;
      const uint32_t starts = __shfl_sync(kAllLanes, start_, i);
      PutFeatures(memory_, lane_ / 16, first_episode_ + i, lane_ % 16,
                  LoadFeatures(launch_.market, lane_ < 16 ? goes_on : starts, lane_ % 16));
    }
  }

  __device__ __forceinline__ void Choose(uint32_t step) {
    memory_.AwaitOutputs(step);
#pragma unroll
    for (int i = 0; i < kEpisodesPerHelper; ++i) {
      const float* mine = memory_.outputs[0][0][first_episode_ + i];
      const float* others = memory_.outputs[0][1][first_episode_ + i];
      advantage_[i] = AdvantageOf(mine, others, memory_.bias3, lane_);
      value_[i] = mine[kValueOutput] + others[kValueOutput] + memory_.bias3[kValueOutput];
      const int greedy = WarpGreedy(launch_.allowed, advantage_[i], lane_);
      if (lane_ == i && choice_.action < 0) choice_.action = greedy;
    }
    if (first_episode_ == 0 && lane_ == 0) memory_.ExpectOutputs();
  }

  __device__ __forceinline__ void Step(uint32_t step) {
    if (lane_ >= kEpisodesPerHelper) return;
    active_ = slot_.active != 0;
    StepRecord record;
    if (active_) {
      slot_.rng = rng_;
      const auto start_of = [this](uint32_t) { return start_; };
      record = AdvanceSlot(launch_.rules, bar_, begun_, choice_,
                           TermsOf(launch_.rules, choice_.action), step, start_of, slot_);
    }
    // next_close is the next bar's close bit for bit, so s' is the next step's state as well.
    const bool ends = EndsEpisode(record.flags);
    const bool goes_on = active_ && !ends;
    memory_.portfolio[episode_] = make_float4(
        goes_on ? record.next_portfolio[0] : 1.0f, goes_on ? record.next_portfolio[1] : 0.0f,
        goes_on ? record.next_portfolio[2] : 0.0f, ends ? 1.0f : 0.0f);
    Stage(record, mine_.records[episode_]);
  }

  __device__ __forceinline__ void WriteRows(uint32_t step) {
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kEpisodesPerHelper; ++i) {
      const int episode = first_episode_ + i;
      const bool active = __shfl_sync(kAllLanes, active_, i);
      if (episode >= episodes_) continue;
      const LaneQ q(advantage_[i], value_[i]);
      const StagedRecord& record = mine_.records[episode];
      const size_t row = static_cast<size_t>(first_slot_ + episode) * launch_.steps + step;
      writer_.Write(record, q.Of(record.action()), row, lane_);
      if (launch_.rows.q != nullptr) q.Write(launch_.rows.q + row * kActions, active, lane_);
    }
    __syncwarp();
  }

  const LaunchArguments& launch_;
  Memory& memory_;
  RulesMemory& mine_;
  const int lane_;
  const int first_episode_;
  const int episode_;  // the lane's
  const bool real_;
  const int episodes_;
  const uint32_t first_slot_;
  const uint32_t slot_index_;
  const RowWriter writer_;
  Slot slot_;
  bool active_ = false;
  // Of the present step.
  uint32_t rng_ = 0;
  uint32_t start_ = 0;
  Choice choice_;
  StepBar bar_ = {};
  StepStart begun_ = {};
  LaneAdvantage advantage_[kEpisodesPerHelper];
  float value_[kEpisodesPerHelper];
};

}  // namespace vixen::kernels::resident
