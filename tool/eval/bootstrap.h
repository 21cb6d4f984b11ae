// SPDX-License-Identifier: Apache-2.0
// Confidence intervals of an equity curve's metrics by the stationary bootstrap.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tool/eval/account.h"
#include "tool/eval/metrics.h"

namespace vixen::tool {

// Of these metrics there are intervals.
inline constexpr std::array<MetricId, 6> kIntervalMetrics = {
    MetricId::kTotalReturn, MetricId::kAnnualReturn, MetricId::kVolatility,
    MetricId::kSharpe,      MetricId::kSortino,      MetricId::kMaxDrawdown};

struct Interval {
  double low = 0;
  double high = 0;
};
using Intervals = std::array<std::optional<Interval>, kIntervalMetrics.size()>;

struct BootstrapOptions {
  uint64_t resamples = 1'000;  // 0: no intervals
  uint64_t seed = 1;
  double block_length = 0;  // mean, in steps; 0: StationaryBlockLength of the policy's returns
  double level = 0.95;
};

struct Bootstrap {
  uint64_t resamples = 0;  // 0: there are no intervals, for `reason`
  std::string reason;
  uint64_t seed = 0;
  double level = 0;
  double block_length = 0;  // mean, in steps
  bool block_length_given = false;
  uint64_t unit = 1;  // steps that always stay together
  Intervals policy;
  Intervals buy_and_hold;
  Intervals difference;         // policy − buy-and-hold, both over the same blocks
  double share_of_losses = 0;   // resamples whose total return is not above 0
  double share_not_better = 0;  // … not above buy-and-hold's
};

// `runs`: the policy's runs, one a seed, all over the same steps as `hold`. Each resample takes one
// of the runs at random and fills n steps with blocks of it: a uniform start, a geometric length of
// mean `block_length`, around the end to the beginning (Politis and Romano, Journal of the American
// Statistical Association 89 (1994)). Buy-and-hold takes the same blocks. Percentile intervals.
// Above 200,000 steps, `unit` neighbouring steps always stay together, which keeps the cost at
// resamples · 200,000; within a unit drawdowns are exact.
// No intervals with fewer than 20 steps or where an equity reached 0.
Bootstrap BootstrapIntervals(std::span<const std::span<const StepAccount>> runs,
                             std::span<const StepAccount> hold, double steps_a_year,
                             double risk_free, const BootstrapOptions& options);

}  // namespace vixen::tool
