// SPDX-License-Identifier: Apache-2.0
// What the rules of a step read besides the slot and the market: the settings and the constants
// that follow from them. Computed once on the host, so that every processor works with the same
// bits.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/env/host_device.h"
#include "kernels/env/settings.h"

namespace vixen::kernels {

struct Rules {
  EnvSettings settings;
  uint32_t launch_steps = 0;                  // L
  float rate[kStyles] = {};                   // cost of a fill relative to its notional
  float invested_share = 0;                   // 1 − reserve
  float borrow_rate = 0;                      // a bar, relative to the short notional
  float profit_target = 0;                    // relative to the entry price
  float stop_loss = 0;                        // relative to the entry price
  float ruin_equity = 0;                      // an episode ends at or below this equity
  float least_exposure_equity = 0;            // floor of the divisor of the exposure
  float p_log2_p[kDiversityWindow + 1] = {};  // of p = i / 100; entry 50 is −½ exactly
};
static_assert(std::is_trivially_copyable_v<Rules>);

Rules MakeRules(const EnvSettings& settings, uint32_t launch_steps);

// last'[b] of the specification: an episode cannot step from this bar.
VIXEN_HOST_DEVICE bool IsLastBar(const MarketView& market, uint32_t bar) {
  return market.last[bar] != 0 || bar + 1 == market.end;
}

// Where a draw of 32 random bits falls in the range.
VIXEN_HOST_DEVICE uint32_t DrawnBar(const MarketView& market, uint32_t draw) {
  const uint64_t bars = market.end - market.begin;
  return market.begin + static_cast<uint32_t>((draw * bars) >> 32);
}

// The bar that a draw starts an episode at.
VIXEN_HOST_DEVICE uint32_t StartBar(const MarketView& market, uint32_t draw) {
  const uint32_t start = DrawnBar(market, draw);
  return IsLastBar(market, start) ? start - 1 : start;
}

}  // namespace vixen::kernels
