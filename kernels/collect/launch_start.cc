// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/launch_start.h"

#include <cmath>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/env/step.h"

namespace vixen::kernels {
namespace {

absl::Status CheckLength(std::string_view name, size_t length, size_t expected) {
  if (length == 0 || length == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat(name, " has ", length, " values, expected ", expected));
}

bool IsStartable(const MarketView& market, uint32_t bar) {
  return bar >= market.begin && bar < market.end && !IsLastBar(market, bar);
}

absl::Status CheckInputs(const CollectorOptions& options, const ExplicitInputs& inputs) {
  const size_t slots = options.episodes;
  VIXEN_RETURN_IF_ERROR(CheckLength("rng", inputs.rng.size(), slots));
  VIXEN_RETURN_IF_ERROR(CheckLength("starts", inputs.starts.size(), slots));
  VIXEN_RETURN_IF_ERROR(CheckLength("actions", inputs.actions.size(), slots * options.steps));
  for (size_t n = 0; n < inputs.starts.size(); ++n) {
    if (!IsStartable(options.market, inputs.starts[n])) {
      return absl::InvalidArgumentError(base::StrCat(
          "starts[", n, "] = ", inputs.starts[n], ": outside the range ", options.market.begin,
          " … ", options.market.end, " or a segment's last bar"));
    }
  }
  for (size_t i = 0; i < inputs.actions.size(); ++i) {
    if (inputs.actions[i] >= kActions) {
      return absl::InvalidArgumentError(
          base::StrCat("actions of slot ", i / options.steps, ", step ", i % options.steps, " = ",
                       int{inputs.actions[i]}, " is outside 0 … ", kActions - 1));
    }
  }
  return absl::OkStatus();
}

// The window's categories index arrays: they must be what the counts say.
bool HasSoundWindow(const SlotState& slot) {
  const uint32_t filled = slot.step < kDiversityWindow ? slot.step : kDiversityWindow;
  uint32_t count[kCategories] = {0, 0, 0};
  for (uint32_t i = 0; i < filled; ++i) {
    if (slot.category_window[i] >= kCategories) return false;
    count[slot.category_window[i]] += 1;
  }
  for (int c = 0; c < kCategories; ++c) {
    if (count[c] != slot.category_count[c]) return false;
  }
  return true;
}

absl::Status CheckSlotState(const CollectorOptions& options, size_t n, const SlotState& slot) {
  const auto refuse = [n](const auto&... what) {
    return absl::InvalidArgumentError(base::StrCat("slot_states[", n, "]: ", what...));
  };
  if (slot.active != 1) return refuse("active = ", int{slot.active}, ", expected 1");
  if (!IsStartable(options.market, slot.bar)) {
    return refuse("bar = ", slot.bar, " is outside the range ", options.market.begin, " … ",
                  options.market.end, " or a segment's last bar");
  }
  const struct {
    std::string_view name;
    float value;
  } values[] = {{"cash", slot.cash},
                {"position", slot.position},
                {"entry", slot.entry},
                {"cumulative_costs", slot.cumulative_costs},
                {"barrier_upper", slot.barrier_upper},
                {"barrier_lower", slot.barrier_lower},
                {"barrier_entry", slot.barrier_entry},
                {"episode_reward", slot.episode_reward}};
  for (const auto& value : values) {
    if (!std::isfinite(value.value)) return refuse(value.name, " = ", value.value);
  }
  if (slot.position != 0.0f && !(slot.entry > 0.0f)) {
    return refuse("entry = ", slot.entry, " of an open position");
  }
  const float equity = EquityAt(slot, options.market.targets[4 * size_t{slot.bar}]);
  if (!(equity > 0.0f)) return refuse("equity = ", equity, " is not above 0");
  if (slot.barrier_armed > 1) return refuse("barrier_armed = ", int{slot.barrier_armed});
  if (!HasSoundWindow(slot)) return refuse("category_window and category_count disagree");
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckLaunch(const CollectorOptions& options, const LaunchRequest& request,
                         const Batch& batch) {
  if (batch.episodes() != options.episodes || batch.steps() != options.steps) {
    return absl::InvalidArgumentError(base::StrCat("batch of ", batch.episodes(), " × ",
                                                   batch.steps(), " for launches of ",
                                                   options.episodes, " × ", options.steps));
  }
  if (!(request.epsilon >= 0.0f)) {
    return absl::InvalidArgumentError(
        base::StrCat("epsilon = ", request.epsilon, " is not a number from 0 on"));
  }
  VIXEN_RETURN_IF_ERROR(CheckInputs(options, request.inputs));
  if (request.slot_states.empty()) return absl::OkStatus();
  if (!options.settings.carry_over) {
    return absl::InvalidArgumentError("slot_states given, but carry_over is off");
  }
  VIXEN_RETURN_IF_ERROR(CheckLength("slot_states", request.slot_states.size(), options.episodes));
  for (size_t n = 0; n < request.slot_states.size(); ++n) {
    VIXEN_RETURN_IF_ERROR(CheckSlotState(options, n, request.slot_states[n]));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SlotState>> StartSlots(const CollectorOptions& options,
                                                  const Rules& rules, const LaunchRequest& request,
                                                  std::span<const SlotState> kept) {
  if (!request.slot_states.empty()) {
    return std::vector<SlotState>(request.slot_states.begin(), request.slot_states.end());
  }
  const ExplicitInputs& inputs = request.inputs;
  const bool is_explicit = !inputs.rng.empty() || !inputs.starts.empty();
  if (options.settings.carry_over && request.launch > 0 && !is_explicit) {
    if (kept.empty()) {
      return absl::FailedPreconditionError(base::StrCat(
          "launch ", request.launch,
          " with carry_over needs the slot states of the launch before it: give slot_states"));
    }
    return std::vector<SlotState>(kept.begin(), kept.end());
  }
  std::vector<SlotState> slots(options.episodes);
  for (uint32_t n = 0; n < options.episodes; ++n) {
    const SlotSeed seed = SeedOfSlot(request.seed, request.launch, n);
    const uint32_t rng = inputs.rng.empty() ? seed.rng : inputs.rng[n];
    const uint32_t start =
        inputs.starts.empty() ? StartBar(options.market, seed.start_draw) : inputs.starts[n];
    slots[n] = FreshSlot(rules, rng, start, 0);
  }
  return slots;
}

}  // namespace vixen::kernels
