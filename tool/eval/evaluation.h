// SPDX-License-Identifier: Apache-2.0
// What `vixen eval` found, as `vixen report` and other programs read it. The file:
// docs/evaluation.md.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/batch/statistics.h"
#include "kernels/env/settings.h"
#include "tool/eval/annualisation.h"
#include "tool/eval/metrics.h"
#include "tool/eval/random_timing.h"
#include "tool/eval/trades.h"

namespace vixen::tool {

inline constexpr int kEvaluationFormatVersion = 1;

// Bars [begin, end) of one segment inside the range, traded as one episode.
struct EvaluationPart {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t first_step = 0;
  uint64_t steps = 0;      // end − begin − 1 unless ruin ended it
  int64_t begin_time = 0;  // ns UTC, of bar `begin`
  double begin_price = 0;
  double capital = 0;  // of the chained curve at its start
  bool ended_by_ruin = false;
};

// One entry a step, parts one after another. `time` and `close` are those of the bar that the step
// is marked at.
struct EvaluationSeries {
  std::vector<int64_t> time;
  std::vector<double> close;
  std::vector<double> position;  // units, after the trade
  std::vector<double> exposure;  // signed share of E_{i−1}
  std::vector<double> equity;
  std::vector<double> buy_and_hold;
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
  std::vector<EvaluationPart> parts;
  Metrics policy;
  Metrics buy_and_hold;
  Metrics flat;
  std::vector<Trade> trades;
  EvaluationSeries series;
  // Of the evaluated steps only; episode figures count the parts.
  kernels::LaunchStatistics statistics;
  std::array<uint64_t, kernels::kActions> action{};
  std::optional<double> reward_equity_correlation;  // cumulated reward with log equity
  RandomTiming random_timing;
  double largest_equity_difference = 0;  // float64 books against the kernel's float32, relative
  std::vector<std::string> warnings;

  uint64_t steps() const { return series.time.size(); }
};

// Share of the terms' summed variance that each reward term has; all 0 when nothing varies.
std::array<double, kernels::kRewardTerms> RewardVarianceShares(
    const kernels::LaunchStatistics& statistics);
const std::array<const char*, kernels::kRewardTerms>& RewardTermNames();

// The file's text, and back; without series, trades and parts where only the summary is asked for.
// ParseEvaluation answers INVALID_ARGUMENT naming `source` and the
// field; it checks that all series are equally long and finite.
std::string EvaluationToJson(const Evaluation& evaluation, bool summary_only = false);
absl::StatusOr<Evaluation> ParseEvaluation(const std::string& text, const std::string& source);

}  // namespace vixen::tool
