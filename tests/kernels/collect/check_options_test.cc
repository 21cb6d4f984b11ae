// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "tests/kernels/test_policy.h"

namespace vixen::kernels {
namespace {

TEST(CheckOptions, NamesTheSettingOutsideItsRange) {
  const bench::RandomMarket market(500, 5, 1);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const struct {
    const char* name;
    std::function<void(CollectorOptions&)> spoil;
  } faults[] = {
      {"episodes", [](auto& o) { o.episodes = 0; }},
      {"episodes", [](auto& o) { o.episodes = 65537; }},
      {"steps", [](auto& o) { o.steps = 0; }},
      {"steps", [](auto& o) { o.steps = 65537; }},
      {"threads", [](auto& o) { o.threads = -1; }},
      {"hidden1", [](auto& o) { o.architecture.hidden1 = 17; }},
      {"features", [](auto& o) { o.architecture.features = 6; }},
      {"initial_capital", [](auto& o) { o.settings.initial_capital = 0; }},
      {"initial_capital", [nan](auto& o) { o.settings.initial_capital = nan; }},
      {"reserve", [](auto& o) { o.settings.reserve = 1; }},
      {"spread", [](auto& o) { o.settings.spread = -0.1f; }},
      {"cost_bps[3]", [](auto& o) { o.settings.cost_bps[3] = 2000; }},
      {"fill[8]", [](auto& o) { o.settings.fill[8] = 1.5f; }},
      {"rebalance_band", [](auto& o) { o.settings.rebalance_band = -1; }},
      {"borrow_bps", [](auto& o) { o.settings.borrow_bps = -1; }},
      {"profit_target_bps", [](auto& o) { o.settings.profit_target_bps = 0; }},
      {"stop_loss_bps", [](auto& o) { o.settings.stop_loss_bps = 0; }},
      {"max_holding_bars", [](auto& o) { o.settings.max_holding_bars = 0; }},
      {"min_equity", [](auto& o) { o.settings.min_equity = 0.001f; }},
      {"min_equity", [](auto& o) { o.settings.min_equity = 1; }},
      {"max_episode_steps", [](auto& o) { o.settings.max_episode_steps = -1; }},
      {"gamma", [](auto& o) { o.settings.gamma = 1.01f; }},
      {"pnl_scale", [](auto& o) { o.settings.pnl_scale = -1; }},
      {"barrier_bonus", [](auto& o) { o.settings.barrier_bonus = -1; }},
      {"risk_threshold", [](auto& o) { o.settings.risk_threshold = 11; }},
      {"risk_scale", [](auto& o) { o.settings.risk_scale = -1; }},
      {"diversity_min_entropy", [](auto& o) { o.settings.diversity_min_entropy = 2; }},
      {"diversity_penalty", [](auto& o) { o.settings.diversity_penalty = -1; }},
      {"curiosity_max", [](auto& o) { o.settings.curiosity_max = -1; }},
      {"carry_over", [](auto& o) { o.settings.carry_over = true, o.settings.recycle = false; }},
      {"actions", [](auto& o) { o.settings.action_count = 0; }},
      {"actions[1]", [](auto& o) { o.settings.actions[1] = 0; }},
      {"actions[44]", [](auto& o) { o.settings.actions[44] = 45; }},
      {"end = 501", [](auto& o) { o.market.end = 501; }},
      {"begin = 499", [](auto& o) { o.market.begin = 499; }},
      {"no dataset", [](auto& o) { o.market.targets = nullptr; }},
  };
  EXPECT_TRUE(CheckOptions(SmallOptions(market)).ok());
  for (const auto& fault : faults) {
    CollectorOptions options = SmallOptions(market);
    fault.spoil(options);
    const absl::Status status = CheckOptions(options);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << fault.name;
    EXPECT_NE(status.ToString().find(fault.name), std::string::npos) << status;
  }
}

TEST(CheckOptions, AcceptsTheEndsOfTheRanges) {
  const bench::RandomMarket market(500, 5, 1);
  CollectorOptions options = SmallOptions(market);
  options.settings.reserve = 0.99f;
  options.settings.spread = 0.1f;
  options.settings.min_equity = 0.9999f;
  options.settings.diversity_min_entropy = 1.6f;
  options.settings.max_holding_bars = 2147483647;
  EXPECT_TRUE(CheckOptions(options).ok()) << CheckOptions(options);
  options.settings.min_equity = 0.01f;
  options.episodes = 65536;
  options.steps = 65536;
  EXPECT_TRUE(CheckOptions(options).ok()) << CheckOptions(options);
}

TEST(CheckOptions, RefusesARangeThatStartsOnALastBar) {
  bench::RandomMarket market(500, 5, 1);
  market.last[0] = 1;
  EXPECT_EQ(CheckOptions(SmallOptions(market)).code(), absl::StatusCode::kInvalidArgument);
}

TEST(MakeCpuCollector, SaysThatLowerPrecisionsNeedCuda) {
  const bench::RandomMarket market(500, 5, 1);
  CollectorOptions options = SmallOptions(market);
  options.precision = Precision::kTf32;
  const absl::Status status = MakeCpuCollector(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("tf32"), std::string::npos);
}

TEST(MakeCpuCollector, RefusesLaunchesLargerThanTheMemory) {
  const bench::RandomMarket market(500, 5, 1);
  CollectorOptions options = SmallOptions(market);
  options.episodes = 65536;
  options.steps = 65536;
  const absl::Status status = MakeCpuCollector(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.ToString().find("episodes"), std::string::npos);
}

}  // namespace
}  // namespace vixen::kernels
