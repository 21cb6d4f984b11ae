// SPDX-License-Identifier: Apache-2.0
#include "kernels/verify/barrier_tie.h"

#include <cmath>
#include <limits>

#include "kernels/env/step.h"

namespace vixen::kernels {
namespace {

struct Lines {
  double upper;
  double lower;
};

BarrierResult ResultAt(const Lines& lines, const float* target, const SlotState& slot) {
  const bool hit_up = target[2] >= lines.upper;
  const bool hit_down = target[3] <= lines.lower;
  const bool is_long = slot.position > 0.0f;
  if (is_long ? hit_down : hit_up) return BarrierResult::kStop;
  if (is_long ? hit_up : hit_down) return BarrierResult::kProfit;
  return slot.step + 1 >= slot.barrier_expiry ? BarrierResult::kTime : BarrierResult::kNone;
}

Lines DoubleLines(const EnvSettings& settings, const SlotState& slot) {
  const bool is_long = slot.position > 0.0f;
  const double entry = slot.barrier_entry;
  const double profit = entry * (double{settings.profit_target_bps} / 1e4);
  const double stop = entry * (double{settings.stop_loss_bps} / 1e4);
  return {entry + (is_long ? profit : stop), entry - (is_long ? stop : profit)};
}

bool IsWithinOneStep(double line, float price) {
  const float next = std::nextafter(price, std::numeric_limits<float>::infinity());
  return std::fabs(line - price) <= double{next} - double{price};
}

}  // namespace

bool IsBarrierTie(const GoldenCase& golden, uint64_t slot, uint64_t place, BarrierResult computed,
                  BarrierResult expected) {
  const MarketView& market = golden.options.market;
  const Rules rules = MakeRules(golden.options.settings, golden.options.steps);
  const uint64_t columns = uint64_t{golden.launches} * golden.options.steps;
  SlotState state = FreshSlot(rules, golden.rng[slot], golden.starts[slot], 0);
  for (uint64_t step = 0; step < place; ++step) {
    if (state.active == 0) return false;
    const int action = golden.action[slot * columns + step];
    if (action < 0 || action >= kActions) return false;
    const Choice choice = ChooseAction(rules.settings, golden.epsilon, action, action, state.rng);
    StepSlot(rules, market, choice, static_cast<uint32_t>(step % golden.options.steps), state);
  }
  const int action = golden.action[slot * columns + place];
  if (state.active == 0 || action < 0 || action >= kActions) return false;
  const float* target = market.targets + 4 * size_t{state.bar};
  const bool was_flat = state.position == 0.0f;
  StepCosts costs;
  const bool reversal = Trade(rules, TermsOf(rules, action), target[0], state, costs);
  if (state.position == 0.0f) return false;
  if (was_flat || reversal || state.barrier_armed == 0) ArmBarrier(rules, target[0], state);

  const Lines single = {state.barrier_upper, state.barrier_lower};
  const Lines exact = DoubleLines(rules.settings, state);
  return ResultAt(single, target, state) == computed &&
         ResultAt(exact, target, state) == expected &&
         (IsWithinOneStep(exact.upper, target[2]) || IsWithinOneStep(exact.lower, target[3]));
}

}  // namespace vixen::kernels
