// SPDX-License-Identifier: Apache-2.0
// A hand-written market and a walk over it with scripted actions, for tests of the rules.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/env/rules.h"
#include "kernels/env/step.h"

namespace vixen::kernels {

// next_high = next_low = next_close unless set; feature 0 of bar b is b.
struct SmallMarket {
  explicit SmallMarket(const std::vector<float>& close) : last(close.size(), 0) {
    for (size_t b = 0; b < close.size(); ++b) {
      const float next = b + 1 < close.size() ? close[b + 1] : close[b];
      targets.insert(targets.end(), {close[b], next, next, next});
      features.push_back(static_cast<float>(b));
    }
    last.back() = 1;
  }

  void SetNextRange(size_t bar, float high, float low) {
    targets[4 * bar + 2] = high;
    targets[4 * bar + 3] = low;
  }

  MarketView view() const {
    const auto bars = static_cast<uint32_t>(last.size());
    return {features.data(), targets.data(), last.data(), bars, 1, 0, bars};
  }

  std::vector<float> features;
  std::vector<float> targets;
  std::vector<uint8_t> last;
};

// The settings of the accounting and barrier cases; an ended slot keeps its state to be looked at.
inline EnvSettings RelabelSettings() {
  EnvSettings settings;
  settings.recycle = false;
  settings.on_barrier = OnBarrier::kRelabel;
  return settings;
}

// One slot that starts at bar 0 and takes the actions that it is told.
class Walk {
 public:
  explicit Walk(const std::vector<float>& close, const EnvSettings& settings = RelabelSettings())
      : Walk(SmallMarket(close), settings) {}
  Walk(SmallMarket market, const EnvSettings& settings)
      : market_(std::move(market)),
        rules_(MakeRules(settings, 1'000'000)),
        slot_(FreshSlot(rules_, 1, 0, 0)) {}

  StepRecord Step(int action) {
    return StepSlot(rules_, market_.view(), Choice{action, false}, launch_step_++, slot_);
  }

  const Rules& rules() const { return rules_; }
  const SlotState& slot() const { return slot_; }
  float equity(float price) const { return EquityAt(slot_, price); }

 private:
  SmallMarket market_;
  Rules rules_;
  SlotState slot_;
  uint32_t launch_step_ = 0;
};

// Actions by name: exposure·9 + style.
inline constexpr int kFullShort = 1;
inline constexpr int kFlat = 19;
inline constexpr int kHalfLong = 28;
inline constexpr int kFullLong = 37;

}  // namespace vixen::kernels
