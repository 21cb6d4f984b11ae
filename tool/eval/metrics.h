// SPDX-License-Identifier: Apache-2.0
// The metrics of a backtest report as pure functions of an equity curve, its steps and its trades.
// Definitions: docs/evaluation.md, "Metrics".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tool/eval/account.h"
#include "tool/eval/trades.h"

namespace vixen::tool {

enum class MetricId : uint8_t {
  kTotalReturn,
  kAnnualReturn,
  kVolatility,
  kSharpe,
  kSortino,
  kMaxDrawdown,
  kDrawdownDuration,
  kCalmar,
  kExposureTime,
  kLongTime,
  kShortTime,
  kMeanExposure,
  kTradedNotional,
  kTurnover,
  kTurnoverYear,
  kCosts,
  kCostsOfCapital,
  kCostsOfGrossProfit,
  kClosedTrades,
  kOpenTrades,
  kWinRate,
  kProfitFactor,
  kExpectancy,
  kMeanBarsHeld,
  kClosedProfit,
  kOpenProfit,
};
inline constexpr size_t kMetricCount = 26;

enum class MetricUnit : uint8_t { kShare, kRatio, kMoney, kCount, kSteps, kTimes };

struct MetricSpec {
  MetricId id;
  std::string_view key;    // in evaluation files
  std::string_view title;  // for people
  MetricUnit unit;
};
// In the order of MetricId, which is the order of tables.
const std::array<MetricSpec, kMetricCount>& MetricSpecs();

// A number, or the reason why there is none; never NaN or infinite.
struct Metric {
  std::optional<double> value;
  std::string reason;
};

struct Metrics {
  std::array<Metric, kMetricCount> values;
  bool recovered = true;  // false: the longest drawdown lasts to the end
  bool ruined = false;    // the equity reached 0

  const Metric& operator[](MetricId id) const { return values[static_cast<size_t>(id)]; }
  Metric& operator[](MetricId id) { return values[static_cast<size_t>(id)]; }
};

// `initial` is E₀ > 0; `steps` holds E₁ … E_n and what happened in each; `trades` all closed and
// open ones. `steps_a_year` is P; `risk_free` a year. O(steps + trades).
Metrics ComputeMetrics(double initial, std::span<const StepAccount> steps,
                       std::span<const Trade> trades, double steps_a_year, double risk_free = 0);

// 1 − E_i/max(E₀ … E_i) for i = 1 … n.
std::vector<double> Drawdowns(double initial, std::span<const StepAccount> steps);

// Pearson's correlation; empty when a side has no variance or fewer than two pairs are there.
std::optional<double> Correlation(std::span<const double> a, std::span<const double> b);

}  // namespace vixen::tool
