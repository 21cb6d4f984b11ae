// SPDX-License-Identifier: Apache-2.0
// The specification's table of sizes and settings as checks.
#include <cmath>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/collect/collector.h"

namespace vixen::kernels {
namespace {

// `above`: the least value itself is not allowed.
absl::Status CheckRange(std::string_view name, double value, double least, double most,
                        bool above = false) {
  if (value <= most && (above ? value > least : value >= least)) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat(name, " = ", value, " is outside ", least,
                                                 above ? " (excluded)" : "", " … ", most));
}

absl::Status CheckTrading(const EnvSettings& s) {
  VIXEN_RETURN_IF_ERROR(CheckRange("initial_capital", s.initial_capital, 0, 1e12, true));
  VIXEN_RETURN_IF_ERROR(CheckRange("reserve", s.reserve, 0, 0.99f));
  VIXEN_RETURN_IF_ERROR(CheckRange("spread", s.spread, 0, 0.1f));
  for (int i = 0; i < kStyles; ++i) {
    VIXEN_RETURN_IF_ERROR(CheckRange(base::StrCat("cost_bps[", i, "]"), s.cost_bps[i], -100, 1000));
    VIXEN_RETURN_IF_ERROR(CheckRange(base::StrCat("fill[", i, "]"), s.fill[i], 0, 1));
  }
  VIXEN_RETURN_IF_ERROR(CheckRange("rebalance_band", s.rebalance_band, 0, 10));
  VIXEN_RETURN_IF_ERROR(CheckRange("borrow_bps", s.borrow_bps, 0, 1000));
  VIXEN_RETURN_IF_ERROR(CheckRange("profit_target_bps", s.profit_target_bps, 0, 1e7, true));
  VIXEN_RETURN_IF_ERROR(CheckRange("stop_loss_bps", s.stop_loss_bps, 0, 1e7, true));
  VIXEN_RETURN_IF_ERROR(CheckRange("max_holding_bars", s.max_holding_bars, 1, 2147483647.0));
  return CheckRange("min_equity", s.min_equity, 0.01f, 0.9999f);
}

absl::Status CheckReward(const EnvSettings& s) {
  VIXEN_RETURN_IF_ERROR(CheckRange("gamma", s.gamma, 0, 1));
  VIXEN_RETURN_IF_ERROR(CheckRange("pnl_scale", s.pnl_scale, 0, 1e6));
  VIXEN_RETURN_IF_ERROR(CheckRange("barrier_bonus", s.barrier_bonus, 0, 1e6));
  VIXEN_RETURN_IF_ERROR(CheckRange("risk_threshold", s.risk_threshold, 0, 10));
  VIXEN_RETURN_IF_ERROR(CheckRange("risk_scale", s.risk_scale, 0, 1e6));
  VIXEN_RETURN_IF_ERROR(CheckRange("diversity_min_entropy", s.diversity_min_entropy, 0, 1.6f));
  VIXEN_RETURN_IF_ERROR(CheckRange("diversity_penalty", s.diversity_penalty, 0, 1e6));
  return CheckRange("curiosity_max", s.curiosity_max, 0, 1e6);
}

absl::Status CheckEpisodes(const EnvSettings& s) {
  VIXEN_RETURN_IF_ERROR(CheckRange("max_episode_steps", s.max_episode_steps, 0, 2147483647.0));
  if (s.carry_over && !s.recycle) {
    return absl::InvalidArgumentError(
        "carry_over = true with recycle = false: an ended episode would idle for ever; turn one of "
        "them round");
  }
  VIXEN_RETURN_IF_ERROR(CheckRange("number of actions", s.action_count, 1, kActions));
  for (int i = 0; i < s.action_count; ++i) {
    if (s.actions[i] >= kActions) {
      return absl::InvalidArgumentError(
          base::StrCat("actions[", i, "] = ", int{s.actions[i]}, " is outside 0 … ", kActions - 1));
    }
    if (i > 0 && s.actions[i] <= s.actions[i - 1]) {
      return absl::InvalidArgumentError(base::StrCat("actions[", i, "] = ", int{s.actions[i]},
                                                     " does not ascend after ",
                                                     int{s.actions[i - 1]}));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckMarket(const MarketView& market, uint32_t features) {
  if (market.features == nullptr || market.targets == nullptr || market.last == nullptr) {
    return absl::InvalidArgumentError("market: no dataset");
  }
  if (market.feature_count != features) {
    return absl::InvalidArgumentError(
        base::StrCat("features = ", features, ", but the dataset has ", market.feature_count));
  }
  VIXEN_RETURN_IF_ERROR(CheckRange("bars", market.bars, 2, 2147483647.0));
  if (market.end > market.bars || market.begin >= market.end || market.end - market.begin < 2) {
    return absl::InvalidArgumentError(base::StrCat("begin = ", market.begin, ", end = ", market.end,
                                                   ": needs two bars within 0 … ", market.bars));
  }
  // Every draw then has a startable bar at or one before it.
  if (market.last[market.begin] != 0 || market.last[market.end - 2] != 0) {
    return absl::InvalidArgumentError(base::StrCat(
        "begin = ", market.begin, ", end = ", market.end,
        ": the range's first or final segment has one bar (take the effective range)"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckOptions(const CollectorOptions& options) {
  VIXEN_RETURN_IF_ERROR(CheckRange("episodes", options.episodes, 1, 65536));
  VIXEN_RETURN_IF_ERROR(CheckRange("steps", options.steps, 1, 65536));
  VIXEN_RETURN_IF_ERROR(CheckRange("threads", options.threads, 0, 1024));
  VIXEN_RETURN_IF_ERROR(options.architecture.Check());
  VIXEN_RETURN_IF_ERROR(CheckTrading(options.settings));
  VIXEN_RETURN_IF_ERROR(CheckReward(options.settings));
  VIXEN_RETURN_IF_ERROR(CheckEpisodes(options.settings));
  return CheckMarket(options.market, options.architecture.features);
}

}  // namespace vixen::kernels
