// SPDX-License-Identifier: Apache-2.0
#include "market/synth/bed_settings.h"

#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace vixen::market {
namespace {

constexpr size_t kStyles = 9;

}  // namespace

BedSettings SettingsOf(const BedTraits& traits) {
  BedSettings settings;
  settings.cost_bps = traits.cost_rate * 1e4;
  settings.pnl_scale = 1 / ((1 - settings.reserve) * traits.price_scale);
  return settings;
}

std::string ToTextproto(const BedSettings& settings) {
  const std::vector<std::string> costs(kStyles, absl::StrFormat("%g", settings.cost_bps));
  return absl::StrFormat(
      R"(episodes: %d
steps: %d
carry_over: true
max_episode_steps: %d
actions: [%s]
reserve: %g
spread: 0
cost_bps: [%s]
rebalance_band: %g
profit_target_bps: %g
stop_loss_bps: %g
max_holding_bars: %d
on_barrier: RELABEL
barrier_bonus: 0
min_equity: %g
gamma: %g
pnl_scale: %.9g
risk_scale: 0
diversity_penalty: 0
curiosity_max: 0
double_dqn: true
)",
      settings.episodes, settings.steps, settings.max_episode_steps,
      absl::StrJoin(kBedActions, ", "), settings.reserve, absl::StrJoin(costs, ", "),
      settings.rebalance_band, settings.barrier_bps, settings.barrier_bps,
      settings.max_holding_bars, settings.min_equity, settings.gamma, settings.pnl_scale);
}

}  // namespace vixen::market
