// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/folds.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace vixen::tool {
namespace {

std::vector<Trade> TradesWithin(std::span<const Trade> trades, uint64_t first, uint64_t steps) {
  std::vector<Trade> within;
  std::copy_if(trades.begin(), trades.end(), std::back_inserter(within), [&](const Trade& trade) {
    return trade.entry_step >= first && trade.entry_step < first + steps;
  });
  return within;
}

Metrics MetricsWithin(const BookRun& run, const EvaluationFold& fold, double steps_a_year,
                      double risk_free) {
  const auto steps = std::span(run.steps).subspan(fold.first_step, fold.steps);
  const auto trades = TradesWithin(run.trades, fold.first_step, fold.steps);
  return ComputeMetrics(steps.front().equity_before, steps, trades, steps_a_year, risk_free);
}

}  // namespace

absl::StatusOr<std::vector<PlannedPart>> PlanParts(const market::Dataset& dataset,
                                                   market::BarRange range, uint64_t folds) {
  const uint64_t steps = range.end - range.begin - 1;
  const uint64_t count = std::max<uint64_t>(folds, 1);
  if (count > steps) {
    return absl::InvalidArgumentError(
        absl::StrCat("folds: ", folds, " are more than the ", steps, " steps of the range"));
  }
  std::vector<PlannedPart> plan;
  for (uint64_t fold = 0; fold < count; ++fold) {
    const market::BarRange own{range.begin + fold * steps / count,
                               range.begin + (fold + 1) * steps / count + 1};
    const std::vector<market::BarRange> parts = PartsOf(dataset, own);
    if (parts.empty()) {
      return absl::InvalidArgumentError(
          folds == 0 ? absl::StrCat("range ", range.begin, ":", range.end, " holds no step")
                     : absl::StrCat("fold ", fold + 1, ", bars ", own.begin, ":", own.end,
                                    ", holds no step: take fewer folds"));
    }
    for (const market::BarRange& part : parts) plan.push_back({part, static_cast<uint32_t>(fold)});
  }
  return plan;
}

std::vector<EvaluationFold> FoldsOf(const BookRun& policy, const BookRun& hold,
                                    const market::Dataset& dataset, double steps_a_year,
                                    double risk_free) {
  std::vector<EvaluationFold> folds;
  for (const EvaluationPart& part : policy.parts) {
    if (part.fold >= folds.size()) {
      folds.push_back(
          {.begin = part.begin, .begin_time = part.begin_time, .first_step = part.first_step});
    }
    folds.back().end = part.end;
    folds.back().end_time = dataset.timestamp()[part.begin + part.steps];
    folds.back().steps += part.steps;
  }
  for (EvaluationFold& fold : folds) {
    fold.policy = MetricsWithin(policy, fold, steps_a_year, risk_free);
    fold.buy_and_hold = MetricsWithin(hold, fold, steps_a_year, risk_free);
  }
  return folds;
}

}  // namespace vixen::tool
