// SPDX-License-Identifier: Apache-2.0
// What `vixen eval` found, as `vixen report` and other programs read it. The file:
// docs/evaluation.md.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/batch/statistics.h"
#include "kernels/env/settings.h"
#include "tool/eval/annualisation.h"
#include "tool/eval/book_run.h"
#include "tool/eval/bootstrap.h"
#include "tool/eval/metrics.h"
#include "tool/eval/moving_average.h"
#include "tool/eval/policy_runner.h"
#include "tool/eval/random_timing.h"
#include "tool/eval/trades.h"

namespace vixen::tool {

inline constexpr int kEvaluationFormatVersion = 3;

// One entry a step, parts one after another; in the file of a long evaluation those of the steps
// `step` only (Compact in curves.h). `time` and `close` are those of the bar that the step is
// marked at.
struct EvaluationSeries {
  std::vector<uint64_t> step;  // rising; empty: every step
  std::vector<int64_t> time;
  std::vector<double> close;
  std::vector<double> position;  // units, after the trade
  std::vector<double> exposure;  // signed share of E_{i−1}
  std::vector<double> equity;
  std::vector<double> buy_and_hold;
  std::vector<double> moving_average;
};

// Sharpe ratio over the last `window` steps, an entry an entry of the series; NaN where there is
// none.
struct RollingSharpe {
  uint64_t window = 0;  // 0: the evaluation is too short for one
  std::vector<double> policy;
  std::vector<double> buy_and_hold;
};

// A histogram: how many values below 0 and how many others each bin holds.
struct Bins {
  std::vector<double> middle;
  std::vector<double> below_zero;
  std::vector<double> others;
};

// The same policy with every fee, the spread and borrowing multiplied, run again: it decides anew
// on what it then has.
struct CostScale {
  double scale = 1;
  Metrics metrics;
};

// One run of an ε-policy.
struct EvaluationSeed {
  uint64_t seed = 0;
  Metrics metrics;
};

// One of the stretches of a walk-forward evaluation; it begins flat, with the curve's capital.
struct EvaluationFold {
  uint64_t begin = 0;  // bars; the next fold begins at this one's last bar
  uint64_t end = 0;
  int64_t begin_time = 0;  // ns UTC
  int64_t end_time = 0;
  uint64_t first_step = 0;
  uint64_t steps = 0;
  std::string weights;
  uint64_t online_version = 0;
  // As those of the identity, of this fold's weights.
  std::optional<std::string> trained_on;
  std::optional<uint64_t> trained_to;
  Metrics policy;
  Metrics buy_and_hold;
};

struct EvaluationIdentity {
  std::string software_version;
  std::string dataset_path;
  std::string dataset_fingerprint;
  std::string dataset_source;
  std::string scaler_fingerprint;
  uint64_t dataset_bars = 0;
  uint64_t dataset_segments = 0;
  std::optional<uint64_t> train_rows;
  // What the weights say that they were trained on: the dataset's fingerprint, and the bar after
  // the last where it is this dataset. Absent where they say nothing.
  std::optional<std::string> trained_on;
  std::optional<uint64_t> trained_to;
  std::string weights_path;
  std::string policy;
  std::string architecture;
  uint64_t online_version = 0;
  uint64_t target_version = 0;
  uint64_t curiosity_version = 0;
  std::string training_step;
  std::string precision;
  std::string device;
};

struct Evaluation {
  EvaluationIdentity identity;
  uint64_t begin = 0;  // bars of the range
  uint64_t end = 0;
  double initial_capital = 0;
  std::string calendar;
  double risk_free = 0;
  Annualisation annualisation;
  std::vector<std::pair<std::string, std::string>> settings;  // name, value as text
  std::string settings_origin;                                // in words
  double epsilon = 0;                                         // of the policy: 0 is greedy
  std::vector<EvaluationPart> parts;
  Metrics policy;  // of the first seed's run
  Metrics buy_and_hold;
  Metrics flat;
  Metrics moving_average;
  MovingAverageRule moving_average_rule;
  Metrics random;  // the run with the median total return of random timing
  Bootstrap bootstrap;
  std::vector<CostScale> cost_scales;  // ascending, with 1
  std::vector<EvaluationSeed> seeds;   // ≥ 1; greedy: one
  std::vector<EvaluationFold> folds;   // empty: not walk-forward
  bool fold_weights = false;           // a policy a fold, not one on all
  std::vector<Trade> trades;
  uint64_t trades_left_out = 0;  // earlier ones that a file does not hold
  EvaluationSeries series;
  RollingSharpe rolling;
  Bins return_bins;  // returns of the steps with a position
  Bins trade_bins;   // net profits of closed trades
  // Of the evaluated steps only; episode figures count the parts.
  kernels::LaunchStatistics statistics;
  std::array<uint64_t, kernels::kActions> action{};
  std::array<Outcome, kernels::kExposures> by_exposure{};
  std::array<Outcome, 4> by_barrier{};              // none, profit, stop, time
  std::optional<double> reward_equity_correlation;  // cumulated reward with log equity
  RandomTiming random_timing;
  double largest_equity_difference = 0;  // float64 books against the kernel's float32, relative
  std::vector<std::string> warnings;

  uint64_t steps() const {
    return parts.empty() ? 0 : parts.back().first_step + parts.back().steps;
  }
  // Step of entry i of the series.
  uint64_t step_of(size_t i) const { return series.step.empty() ? i : series.step[i]; }
};

// Share of the terms' summed variance that each reward term has; all 0 when nothing varies.
std::array<double, kernels::kRewardTerms> RewardVarianceShares(
    const kernels::LaunchStatistics& statistics);
const std::array<const char*, kernels::kRewardTerms>& RewardTermNames();

// Mean, sample deviation, least and most of one metric over folds or seeds that have it.
struct Spread {
  uint64_t count = 0;
  double mean = 0;
  double deviation = 0;  // 0 for one value
  double least = 0;
  double most = 0;
  uint64_t above_zero = 0;
};
Spread SpreadOf(std::span<const Metrics* const> runs, MetricId id);

// Where a policy was trained, as its weights say (nullopt: they do not), seen from bars that begin
// at `begin` of `dataset` (a fingerprint): before them (or the weights do not say), beyond that
// bar, or on another dataset.
enum class TrainedWhere { kBefore, kBeyond, kElsewhere };
TrainedWhere WhereTrained(const std::optional<std::string>& trained_on,
                          std::optional<uint64_t> trained_to, const std::string& dataset,
                          uint64_t begin);

// The range lies behind the training rows of the dataset's split, and nothing that the weights say
// of their training contradicts it.
bool IsUnseen(const Evaluation& evaluation);

// Policy's total return − buy-and-hold's > 0.
bool BeatsBuyAndHold(const EvaluationFold& fold);

const std::array<const char*, 4>& BarrierNames();
const std::array<const char*, kernels::kExposures>& ExposureNames();

// The file's text, and back; without series, trades and parts where only the summary is asked for.
// ParseEvaluation answers INVALID_ARGUMENT naming `source` and the
// field; it checks that all series are equally long and finite.
std::string EvaluationToJson(const Evaluation& evaluation, bool summary_only = false);
absl::StatusOr<Evaluation> ParseEvaluation(const std::string& text, const std::string& source);

}  // namespace vixen::tool
