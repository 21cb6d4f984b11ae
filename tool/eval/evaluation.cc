// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/evaluation.h"

#include <algorithm>
#include <cmath>

namespace vixen::tool {

std::array<double, kernels::kRewardTerms> RewardVarianceShares(
    const kernels::LaunchStatistics& statistics) {
  std::array<double, kernels::kRewardTerms> variance{};
  const auto n = static_cast<double>(statistics.valid_rows);
  double sum = 0;
  for (size_t i = 0; i < variance.size(); ++i) {
    if (n == 0) break;
    const double mean = statistics.term_sum[i] / n;
    variance[i] = std::max(statistics.term_sum_squares[i] / n - mean * mean, 0.0);
    sum += variance[i];
  }
  if (sum > 0) {
    for (double& value : variance) value /= sum;
  }
  return variance;
}

const std::array<const char*, kernels::kRewardTerms>& RewardTermNames() {
  static constexpr std::array<const char*, kernels::kRewardTerms> kNames = {
      "pnl", "barrier", "risk", "diversity", "curiosity"};
  return kNames;
}

const std::array<const char*, 4>& BarrierNames() {
  static constexpr std::array<const char*, 4> kNames = {"none", "profit", "stop", "time"};
  return kNames;
}

const std::array<const char*, kernels::kExposures>& ExposureNames() {
  static constexpr std::array<const char*, kernels::kExposures> kNames = {
      "short", "half short", "flat", "half long", "long"};
  return kNames;
}

Spread SpreadOf(std::span<const Metrics* const> runs, MetricId id) {
  std::vector<double> values;
  for (const Metrics* metrics : runs) {
    if ((*metrics)[id].value) values.push_back(*(*metrics)[id].value);
  }
  Spread spread;
  if (values.empty()) return spread;
  spread.count = values.size();
  const auto count = static_cast<double>(values.size());
  for (const double value : values) {
    spread.mean += value / count;
    spread.above_zero += value > 0;
  }
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  if (values.size() > 1) spread.deviation = std::sqrt(squares / (count - 1));
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  spread.least = *least;
  spread.most = *most;
  return spread;
}

TrainedWhere WhereTrained(const std::optional<std::string>& trained_on,
                          std::optional<uint64_t> trained_to, const std::string& dataset,
                          uint64_t begin) {
  if (trained_on && *trained_on != dataset) return TrainedWhere::kElsewhere;
  return trained_to.value_or(0) <= begin ? TrainedWhere::kBefore : TrainedWhere::kBeyond;
}

bool IsUnseen(const Evaluation& evaluation) {
  const EvaluationIdentity& identity = evaluation.identity;
  if (!identity.train_rows || evaluation.begin < *identity.train_rows) return false;
  const auto unseen = [&](const auto& trained, uint64_t begin) {
    return WhereTrained(trained.trained_on, trained.trained_to, identity.dataset_fingerprint,
                        begin) == TrainedWhere::kBefore;
  };
  if (!evaluation.fold_weights) return unseen(identity, evaluation.begin);
  return std::all_of(evaluation.folds.begin(), evaluation.folds.end(),
                     [&](const EvaluationFold& fold) { return unseen(fold, fold.begin); });
}

bool BeatsBuyAndHold(const EvaluationFold& fold) {
  const Metric& own = fold.policy[MetricId::kTotalReturn];
  const Metric& hold = fold.buy_and_hold[MetricId::kTotalReturn];
  return own.value && hold.value && *own.value > *hold.value;
}

}  // namespace vixen::tool
