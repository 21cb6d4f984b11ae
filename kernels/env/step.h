// SPDX-License-Identifier: Apache-2.0
// One step of one slot (rules 4 to 14 of docs/environment.md, without the networks): plain
// functions for host and device. An executor is a loop over them.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/batch/columns.h"
#include "kernels/env/barriers.h"
#include "kernels/env/diversity.h"
#include "kernels/env/host_device.h"
#include "kernels/env/portfolio.h"
#include "kernels/env/rng.h"
#include "kernels/env/rules.h"
#include "kernels/env/slot_registers.h"
#include "kernels/env/slot_state.h"

namespace vixen::kernels {

// A fresh episode at `start`; `rng` and `episode` go on.
VIXEN_HOST_DEVICE SlotState FreshSlot(const Rules& rules, uint32_t rng, uint32_t start,
                                      uint32_t episode) {
  SlotState slot;
  slot.rng = rng;
  slot.bar = start;
  slot.episode = episode;
  slot.cash = rules.settings.initial_capital;
  return slot;
}

// The lowest index of the largest Q over the allowed actions. A NaN never wins against a number;
// all NaN: the lowest allowed action. `stride`: distance between neighbouring actions in `q`.
VIXEN_HOST_DEVICE int GreedyAction(const EnvSettings& settings, const float* q, int stride) {
  int best = settings.actions[0];
  float best_q = q[best * stride];
  for (int i = 1; i < settings.action_count; ++i) {
    const int action = settings.actions[i];
    const float value = q[action * stride];
    if (value > best_q || (best_q != best_q && value == value)) {
      best = action;
      best_q = value;
    }
  }
  return best;
}

struct Choice {
  int action = 0;
  bool explored = false;
};

// Rule 4: draws the step's two numbers, whether or not it explores. `scripted` ≥ 0 is taken as it
// is.
VIXEN_HOST_DEVICE Choice ChooseAction(const EnvSettings& settings, float epsilon, int greedy,
                                      int scripted, uint32_t& rng) {
  const float u1 = DrawUniform(rng);
  const float u2 = DrawUniform(rng);
  Choice choice;
  choice.explored = u1 < epsilon || epsilon >= 1.0f;
  if (scripted >= 0) {
    choice.action = scripted;
  } else if (choice.explored) {
    const int place = static_cast<int>(u2 * static_cast<float>(settings.action_count));
    const int last = settings.action_count - 1;
    choice.action = settings.actions[place < last ? place : last];
  } else {
    choice.action = greedy;
  }
  return choice;
}

// What a step yields before the networks' part (td, curiosity) is added.
struct StepRecord {
  uint32_t bar = 0;
  uint32_t episode = 0;
  uint8_t action = 0;
  uint8_t flags = 0;
  float portfolio[kPortfolioFeatures] = {0, 0, 0};
  float next_portfolio[kPortfolioFeatures] = {0, 0, 0};
  float pnl = 0;
  float barrier = 0;
  float risk = 0;
  float diversity = 0;
  StepCosts costs;
};

// Rule 11's sum, in its order.
VIXEN_HOST_DEVICE float RewardOf(float pnl, float barrier, float risk, float diversity,
                                 float curiosity) {
  return pnl + barrier + risk + diversity + curiosity;
}

VIXEN_HOST_DEVICE float BarrierTerm(const EnvSettings& settings, BarrierResult result, float pnl) {
  if (result != BarrierResult::kProfit && result != BarrierResult::kStop) return 0.0f;
  const float label = result == BarrierResult::kProfit ? 1.0f : -1.0f;
  const float base = settings.barrier_shaping == BarrierShaping::kAligned ? fabsf(pnl) : pnl;
  return settings.barrier_bonus * label * base;
}

VIXEN_HOST_DEVICE float RiskTerm(const EnvSettings& settings, float exposure) {
  const float size = fabsf(exposure);
  if (!(size > settings.risk_threshold)) return 0.0f;
  return -(size - settings.risk_threshold) * settings.risk_scale;
}

// Rule 10's cap. A NaN goes through, so that it is seen in the reward and never taken for the cap.
VIXEN_HOST_DEVICE float CuriosityTerm(const EnvSettings& settings, float mean_squared_error) {
  return mean_squared_error > settings.curiosity_max ? settings.curiosity_max : mean_squared_error;
}

// Rule 13. A select, never a product with 0.
VIXEN_HOST_DEVICE float TdError(const EnvSettings& settings, bool terminated, float reward,
                                float next_q, float q) {
  const float goal = terminated ? reward : reward + settings.gamma * next_q;
  return fabsf(goal - q);
}

// What a step reads of the market at its bar.
struct StepBar {
  float close;
  float next_close;
  float next_high;
  float next_low;
  bool next_is_last;  // IsLastBar of the bar after it
};

VIXEN_HOST_DEVICE StepBar ReadBar(const MarketView& market, uint32_t bar) {
  const float* target = market.targets + 4 * static_cast<uint64_t>(bar);
  return {target[0], target[1], target[2], target[3], IsLastBar(market, bar + 1)};
}

// What of a step does not depend on its action.
struct StepStart {
  float portfolio[kPortfolioFeatures];
  float equity;
};

template <typename Slot>
VIXEN_HOST_DEVICE StepStart StartStep(const Rules& rules, const StepBar& bar, const Slot& slot) {
  StepStart start;
  ObservePortfolio(rules, slot, bar.close, start.portfolio);
  start.equity = EquityAt(slot, bar.close);
  return start;
}

// Rules 5 to 9, 11, 12 and 14 for an active slot; advances `slot` to its next step, a fresh episode
// or idleness. `start` is StartStep's, `launch_step` ℓ, `terms` those of the chosen action,
// `start_of(draw)` the bar that a fresh episode starts at.
template <typename Slot, typename StartOf>
VIXEN_HOST_DEVICE StepRecord AdvanceSlot(const Rules& rules, const StepBar& bar,
                                         const StepStart& start, Choice choice,
                                         const ActionTerms& terms, uint32_t launch_step,
                                         const StartOf& start_of, Slot& slot) {
  const EnvSettings& settings = rules.settings;
  const float price = bar.close;

  StepRecord record;
  record.bar = slot.bar;
  record.episode = slot.episode;
  record.action = static_cast<uint8_t>(choice.action);
  for (int i = 0; i < kPortfolioFeatures; ++i) record.portfolio[i] = start.portfolio[i];

  const bool was_flat = slot.position == 0.0f;
  const bool reversal = Trade(rules, terms, price, slot, record.costs);
  ChargeBorrowing(rules, price, slot, record.costs);
  const BarrierResult result =
      StepBarrier(rules, was_flat || reversal, price, bar.next_high, bar.next_low, slot);
  record.diversity = StepDiversity(rules, CategoryOf(choice.action), slot);

  ObservePortfolio(rules, slot, bar.next_close, record.next_portfolio);
  // Not a difference of two equities: this keeps float32 exact enough.
  const float step_return =
      (slot.position * (bar.next_close - price) - record.costs.paid) / start.equity;
  record.pnl = settings.pnl_scale * step_return;
  record.barrier = BarrierTerm(settings, result, record.pnl);
  record.risk = RiskTerm(settings, record.next_portfolio[1]);

  const bool ruined = EquityAt(slot, bar.next_close) <= rules.ruin_equity;
  const bool terminated =
      ruined || (settings.on_barrier == OnBarrier::kTerminate && result != BarrierResult::kNone);
  const bool out_of_steps = (!settings.carry_over && launch_step + 1 == rules.launch_steps) ||
                            slot.step + 1 == static_cast<uint32_t>(settings.max_episode_steps);
  const bool truncated = !terminated && (bar.next_is_last || out_of_steps);
  record.flags = static_cast<uint8_t>(
      kFlagValid | (terminated ? kFlagTerminated : 0) | (truncated ? kFlagTruncated : 0) |
      (static_cast<int>(result) << kBarrierShift) | (choice.explored ? kFlagExplored : 0));

  if (!terminated && !truncated) {
    slot.bar += 1;
    slot.step += 1;
  } else if (settings.recycle) {
    const uint32_t rng = NextRandom(slot.rng);
    slot.BeginEpisode(settings.initial_capital, rng, start_of(rng), slot.episode + 1);
  } else {
    slot.active = 0;
  }
  return record;
}

// The same with everything read from the market. The scalars of `slot` are computed in registers.
VIXEN_HOST_DEVICE StepRecord StepSlot(const Rules& rules, const MarketView& market, Choice choice,
                                      uint32_t launch_step, SlotState& slot) {
  const auto start_of = [&market](uint32_t draw) { return StartBar(market, draw); };
  SlotRegisters<SlotWindow> registers(slot, SlotWindow{slot.category_window});
  const StepBar bar = ReadBar(market, slot.bar);
  const StepRecord record =
      AdvanceSlot(rules, bar, StartStep(rules, bar, registers), choice,
                  TermsOf(rules, choice.action), launch_step, start_of, registers);
  registers.Store(slot);
  return record;
}

}  // namespace vixen::kernels
