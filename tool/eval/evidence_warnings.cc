// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/evidence_warnings.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tool/format.h"

namespace vixen::tool {
namespace {

constexpr double kNoiseLevel = 0.05;

void Add(Evaluation& evaluation, std::string text) {
  evaluation.warnings.push_back(std::move(text));
}

double Total(const Metrics& metrics) { return metrics[MetricId::kTotalReturn].value.value_or(0); }

void WarnOfHigherCosts(Evaluation& evaluation) {
  if (Total(evaluation.policy) <= 0) return;
  for (const CostScale& scaled : evaluation.cost_scales) {
    if (scaled.scale <= 1 || Total(scaled.metrics) > 0) continue;
    Add(evaluation, absl::StrCat("At ", scaled.scale, " times the costs the result is ",
                                 Percent(Total(scaled.metrics), true), "."));
    return;
  }
}

void WarnOfBenchmarks(Evaluation& evaluation) {
  const double own = Total(evaluation.policy);
  const std::pair<const char*, const Metrics*> others[] = {
      {"Buy-and-hold", &evaluation.buy_and_hold},
      {"The moving-average rule", &evaluation.moving_average}};
  for (const auto& [name, metrics] : others) {
    if (Total(*metrics) <= own) continue;
    Add(evaluation, absl::StrCat(name, " earned more: ", Percent(Total(*metrics), true),
                                 " against ", Percent(own, true), "."));
  }
}

void WarnOfTiming(Evaluation& evaluation) {
  const RandomTiming& timing = evaluation.random_timing;
  if (timing.shifts == 0) {
    Add(evaluation, absl::StrCat("Only ", Plural(evaluation.steps(), "step"),
                                 ": too few to tell the result from chance."));
  } else if (timing.as_good > kNoiseLevel) {
    Add(evaluation,
        absl::StrCat(
            "The result is inside the noise of random timing: the same positions, moved to "
            "other times, did at least as well in ",
            Percent(timing.as_good), " of ", timing.shifts, " shifts."));
  }
}

void WarnOfChance(Evaluation& evaluation) {
  const Bootstrap& bootstrap = evaluation.bootstrap;
  const double own = Total(evaluation.policy);
  if (bootstrap.resamples == 0 || own <= 0) return;
  if (bootstrap.share_of_losses > kNoiseLevel) {
    const auto& total = bootstrap.policy[0];
    Add(evaluation,
        absl::StrCat(
            "The profit may be chance: ", Percent(bootstrap.share_of_losses), " of ",
            bootstrap.resamples, " resamples of its own steps lost money",
            total ? absl::StrCat(" (", Percent(bootstrap.level), " interval of the return ",
                                 Percent(total->low, true), " to ", Percent(total->high, true), ")")
                  : std::string(),
            "."));
  }
  if (own > Total(evaluation.buy_and_hold) && bootstrap.share_not_better > kNoiseLevel) {
    Add(evaluation, absl::StrCat("The lead over buy-and-hold may be chance: it was gone in ",
                                 Percent(bootstrap.share_not_better), " of the resamples."));
  }
}

void WarnOfFolds(Evaluation& evaluation) {
  if (evaluation.folds.size() < 2) return;
  const auto losing = static_cast<size_t>(
      std::count_if(evaluation.folds.begin(), evaluation.folds.end(),
                    [](const EvaluationFold& fold) { return Total(fold.policy) <= 0; }));
  const auto beating = static_cast<size_t>(
      std::count_if(evaluation.folds.begin(), evaluation.folds.end(), BeatsBuyAndHold));
  const size_t folds = evaluation.folds.size();
  if (losing > 0) {
    Add(evaluation, absl::StrCat("No profit in ", losing, " of ", folds, " folds."));
  }
  if (2 * beating < folds) {
    Add(evaluation,
        absl::StrCat("Better than buy-and-hold in only ", beating, " of ", folds, " folds."));
  }
}

void WarnOfSeeds(Evaluation& evaluation) {
  if (evaluation.seeds.size() < 2) return;
  const auto losing = static_cast<size_t>(
      std::count_if(evaluation.seeds.begin(), evaluation.seeds.end(),
                    [](const EvaluationSeed& seed) { return Total(seed.metrics) <= 0; }));
  if (losing == 0 || losing == evaluation.seeds.size()) return;
  Add(evaluation, absl::StrCat("The seeds disagree: no profit in ", losing, " of ",
                               evaluation.seeds.size(), " runs."));
}

}  // namespace

void AddEvidenceWarnings(bool traded, Evaluation& evaluation) {
  if (traded) {
    WarnOfHigherCosts(evaluation);
    WarnOfBenchmarks(evaluation);
    WarnOfTiming(evaluation);
    WarnOfChance(evaluation);
  }
  WarnOfFolds(evaluation);
  WarnOfSeeds(evaluation);
}

}  // namespace vixen::tool
