// SPDX-License-Identifier: Apache-2.0
#include "market/synth/bed_settings.h"

#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace vixen::market {
namespace {

constexpr double kReserve = 0.1;
constexpr size_t kStyles = 9;

}  // namespace

std::string BedEnvironment(const BedTraits& traits) {
  const std::vector<std::string> costs(kStyles, absl::StrFormat("%g", traits.cost_rate * 1e4));
  return absl::StrFormat(
      R"(episodes: 64
steps: 4
carry_over: true
max_episode_steps: 500
actions: [%s]
reserve: %g
spread: 0
cost_bps: [%s]
rebalance_band: 0.05
profit_target_bps: %g
stop_loss_bps: %g
max_holding_bars: %d
on_barrier: RELABEL
barrier_bonus: 0
min_equity: 0.01
gamma: 0.95
pnl_scale: %.9g
risk_scale: 0
diversity_penalty: 0
curiosity_max: 0
double_dqn: true
)",
      absl::StrJoin(kBedActions, ", "), kReserve, absl::StrJoin(costs, ", "),
      traits.profit_target_bps, traits.stop_loss_bps, traits.max_holding_bars,
      1 / ((1 - kReserve) * traits.price_scale));
}

}  // namespace vixen::market
