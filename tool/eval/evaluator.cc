// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/evaluator.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/env/rules.h"
#include "tool/eval/curves.h"
#include "tool/eval/folds.h"
#include "tool/eval/warnings.h"
#include "tool/format.h"

namespace vixen::tool {
namespace {

constexpr int kMarketNormal = 1;  // style of a plain market order

// What every run of one evaluation shares.
struct Plan {
  const EvaluatorOptions& options;
  std::vector<PlannedPart> parts;
  std::span<const kernels::PolicyWeights> weights;
  kernels::EnvSettings settings;
  Annualisation annualisation;

  const market::Dataset& dataset() const { return *options.dataset; }
  Metrics MetricsOf(const BookRun& run) const {
    return ComputeMetrics(settings.initial_capital, run.steps, run.trades,
                          annualisation.steps_a_year, options.risk_free);
  }
  absl::StatusOr<std::vector<PolicyRun>> RunWith(const kernels::EnvSettings& changed,
                                                 std::span<const uint64_t> seeds) const {
    return RunPolicy({.dataset = options.dataset,
                      .parts = parts,
                      .weights = weights,
                      .settings = changed,
                      .epsilon = options.epsilon,
                      .seeds = seeds,
                      .scripted = options.scripted});
  }
};

absl::StatusOr<Plan> PlanOf(const EvaluatorOptions& options) {
  Plan plan{.options = options,
            .parts = {},
            .weights = options.fold_weights.empty() ? std::span(&options.weights, 1)
                                                    : std::span(options.fold_weights),
            .settings = {},
            .annualisation = {}};
  if (plan.weights.size() > 1 && plan.weights.size() != options.folds) {
    return absl::InvalidArgumentError(absl::StrCat(
        plan.weights.size(), " policies for ", options.folds, " folds: one a fold, or one in all"));
  }
  VIXEN_ASSIGN_OR_RETURN(plan.parts, PlanParts(*options.dataset, options.range, options.folds));
  const bool has_curiosity =
      std::none_of(plan.weights.begin(), plan.weights.end(),
                   [](const auto& weights) { return weights.curiosity.values.empty(); });
  plan.settings = ForEvaluation(options.settings, has_curiosity);

  std::vector<int64_t> times;
  std::vector<uint8_t> last;
  uint64_t steps = 0;
  for (const PlannedPart& part : plan.parts) {
    for (uint64_t bar = part.range.begin; bar < part.range.end; ++bar) {
      times.push_back(options.dataset->timestamp()[bar]);
      last.push_back(bar + 1 == part.range.end);
    }
    steps += part.range.end - part.range.begin - 1;
  }
  plan.annualisation = ChooseAnnualisation(times, last, steps, options.calendar);
  return plan;
}

// A greedy policy does the same under every seed: one run.
std::vector<uint64_t> SeedsOf(const EvaluatorOptions& options) {
  std::vector<uint64_t> seeds;
  const uint64_t count = options.epsilon > 0 ? std::max<uint64_t>(options.seeds, 1) : 1;
  for (uint64_t i = 0; i < count; ++i) seeds.push_back(options.seed + i);
  return seeds;
}

absl::StatusOr<Metrics> RunScaled(const Plan& plan, double scale) {
  const uint64_t seed = plan.options.seed;
  VIXEN_ASSIGN_OR_RETURN(const std::vector<PolicyRun> runs,
                         plan.RunWith(WithCosts(plan.settings, scale), std::span(&seed, 1)));
  return plan.MetricsOf(runs[0].books);
}

void TakeSeries(const Plan& plan, const BookRun& policy, const BookRun& hold,
                const BookRun& average, EvaluationSeries& series) {
  for (const EvaluationPart& part : policy.parts) {
    for (uint64_t i = part.first_step; i < part.first_step + part.steps; ++i) {
      const StepAccount& step = policy.steps[i];
      series.time.push_back(plan.dataset().timestamp()[part.begin + (i - part.first_step) + 1]);
      series.close.push_back(step.next_close);
      series.position.push_back(step.position);
      series.exposure.push_back(step.exposure());
      series.equity.push_back(step.equity);
      series.buy_and_hold.push_back(hold.steps[i].equity);
      series.moving_average.push_back(average.steps[i].equity);
    }
  }
}

std::optional<double> RewardEquityCorrelation(const std::vector<float>& reward,
                                              const EvaluationSeries& series) {
  std::vector<double> cumulated, log_equity;
  cumulated.reserve(reward.size());
  log_equity.reserve(reward.size());
  double sum = 0;
  for (size_t i = 0; i < reward.size(); ++i) {
    if (series.equity[i] <= 0) return std::nullopt;
    cumulated.push_back(sum += reward[i]);
    log_equity.push_back(std::log(series.equity[i]));
  }
  return Correlation(cumulated, log_equity);
}

Metrics RandomMetrics(const Plan& plan, const RandomTiming& timing,
                      std::span<const StepAccount> steps) {
  Metrics metrics;
  if (timing.shifts == 0) {
    for (Metric& metric : metrics.values) metric.reason = "too few steps for random timing";
    return metrics;
  }
  const double initial = plan.settings.initial_capital;
  const auto books = ShiftedBooks(steps, timing.median_shift, initial);
  metrics =
      ComputeMetrics(initial, books, {}, plan.annualisation.steps_a_year, plan.options.risk_free);
  for (size_t id = static_cast<size_t>(MetricId::kClosedTrades); id < kMetricCount; ++id) {
    metrics.values[id] = {std::nullopt, "moved exposures are not trades"};
  }
  return metrics;
}

void TakePolicy(const Plan& plan, PolicyRun& run, Evaluation& evaluation) {
  if (run.untraded_from > 0) {
    evaluation.warnings.push_back(absl::StrCat("The equity reached 0: the bars from ",
                                               run.untraded_from, " on were not traded."));
  }
  evaluation.policy = plan.MetricsOf(run.books);
  evaluation.parts = run.books.parts;
  evaluation.trades = std::move(run.books.trades);
  evaluation.action = run.action;
  evaluation.by_exposure = run.by_exposure;
  evaluation.by_barrier = run.by_barrier;
  evaluation.statistics = run.statistics;
  evaluation.largest_equity_difference = run.largest_difference;
  evaluation.identity.device = run.device;
  evaluation.identity.precision = "fp32";
}

// The policy's runs, then everything that stands beside the first of them.
absl::Status RunItself(const Plan& plan, Evaluation& evaluation) {
  const EvaluatorOptions& options = plan.options;
  const std::vector<uint64_t> seeds = SeedsOf(options);
  VIXEN_ASSIGN_OR_RETURN(std::vector<PolicyRun> runs, plan.RunWith(plan.settings, seeds));
  const BookRun& policy = runs[0].books;
  const kernels::Rules rules = kernels::MakeRules(plan.settings, 0);
  const double steps_a_year = plan.annualisation.steps_a_year;
  for (size_t i = 0; i < runs.size(); ++i) {
    evaluation.seeds.push_back({seeds[i], plan.MetricsOf(runs[i].books)});
  }

  const BookRun hold = RunBuyAndHold(plan.settings.initial_capital, rules.rate[kMarketNormal],
                                     plan.dataset(), policy.parts);
  evaluation.buy_and_hold = plan.MetricsOf(hold);
  if (options.folds > 0) {
    evaluation.folds = FoldsOf(policy, hold, plan.dataset(), steps_a_year, options.risk_free);
  }
  std::vector<std::span<const StepAccount>> curves;
  for (const PolicyRun& run : runs) curves.emplace_back(run.books.steps);
  evaluation.bootstrap =
      BootstrapIntervals(curves, hold.steps, steps_a_year, options.risk_free, options.bootstrap);
  {
    const BookRun average =
        RunMovingAverage(options.moving_average, rules, plan.dataset(), policy.parts);
    evaluation.moving_average = plan.MetricsOf(average);
    TakeSeries(plan, policy, hold, average, evaluation.series);
  }
  {
    std::vector<double> closes = {policy.parts.front().begin_price};
    for (const StepAccount& step : policy.steps) closes.push_back(step.next_close);
    const auto flat = StayFlat(plan.settings.initial_capital, closes);
    evaluation.flat =
        ComputeMetrics(plan.settings.initial_capital, flat, {}, steps_a_year, options.risk_free);
  }
  evaluation.random_timing = CompareWithRandomTiming(policy.steps, options.timing_shifts);
  evaluation.random = RandomMetrics(plan, evaluation.random_timing, policy.steps);
  evaluation.reward_equity_correlation = RewardEquityCorrelation(runs[0].reward, evaluation.series);
  TakePolicy(plan, runs[0], evaluation);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Evaluation> Evaluate(const EvaluatorOptions& options) {
  VIXEN_ASSIGN_OR_RETURN(const Plan plan, PlanOf(options));
  Evaluation evaluation;
  evaluation.begin = options.range.begin;
  evaluation.end = options.range.end;
  evaluation.initial_capital = plan.settings.initial_capital;
  evaluation.calendar = CalendarName(options.calendar);
  evaluation.risk_free = options.risk_free;
  evaluation.epsilon = options.epsilon;
  evaluation.annualisation = plan.annualisation;
  evaluation.moving_average_rule = options.moving_average;
  evaluation.fold_weights = plan.weights.size() > 1;

  std::vector<std::pair<double, std::future<absl::StatusOr<Metrics>>>> scaled;
  for (const double scale : options.cost_scales) {
    if (scale == 1) continue;
    scaled.emplace_back(scale, std::async(std::launch::async, RunScaled, std::cref(plan), scale));
  }
  const absl::Status status = RunItself(plan, evaluation);
  for (auto& [scale, run] : scaled) {
    const absl::StatusOr<Metrics> metrics = run.get();
    if (!status.ok()) continue;
    if (metrics.ok()) {
      evaluation.cost_scales.push_back({scale, *metrics});
    } else if (absl::IsInvalidArgument(metrics.status())) {
      // The settings' own ranges end somewhere.
      evaluation.warnings.push_back(
          absl::StrCat("Costs times ", scale, " were not run: ", metrics.status().message()));
    } else {
      return metrics.status();
    }
  }
  VIXEN_RETURN_IF_ERROR(status);
  evaluation.cost_scales.push_back({1, evaluation.policy});
  std::sort(evaluation.cost_scales.begin(), evaluation.cost_scales.end(),
            [](const CostScale& a, const CostScale& b) { return a.scale < b.scale; });
  DescribeCurves(evaluation);
  AddWarnings(evaluation);
  return evaluation;
}

}  // namespace vixen::tool
