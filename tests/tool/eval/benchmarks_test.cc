// SPDX-License-Identifier: Apache-2.0
// Benchmarks, folds, seeds and costs of an evaluation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/tool/eval/worked_example.h"
#include "tests/tool/hand_made.h"
#include "tool/eval/evaluator.h"
#include "tool/eval/folds.h"
#include "tool/eval/moving_average.h"
#include "tool/eval/trades_csv.h"

namespace vixen::tool {
namespace {

using Id = MetricId;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<double> Wave(size_t bars) {
  std::vector<double> closes;
  for (size_t i = 0; i < bars; ++i) {
    closes.push_back(100 + 5 * std::sin(0.07 * static_cast<double>(i)) +
                     2 * std::sin(1.3 * static_cast<double>(i)));
  }
  return closes;
}

EvaluatorOptions Options(std::vector<std::vector<double>> segments, int action = 37) {
  EvaluatorOptions options;
  options.dataset = DailyDataset(std::move(segments));
  options.range = {0, options.dataset->bars()};
  options.weights = ConstantPolicy(options.dataset->feature_count(), action);
  options.bootstrap.resamples = 50;
  return options;
}

Evaluation RunEvaluation(const EvaluatorOptions& options) {
  absl::StatusOr<Evaluation> evaluation = Evaluate(options);
  EXPECT_TRUE(evaluation.ok()) << evaluation.status();
  return evaluation.ok() ? *std::move(evaluation) : Evaluation();
}

double Value(const Metrics& metrics, Id id) { return metrics[id].value.value_or(std::nan("")); }

TEST(MovingAverage, IsLongWhileTheShorterMeanIsHigher) {
  const auto dataset = DailyDataset({{10, 10, 10, 13, 13, 10, 9, 9}});
  // Means of 2 and 3: (10, 10), (11.5, 11), (13, 12), (11.5, 12), (9.5, 10.7), (9, 9.3)
  EXPECT_THAT(MovingAverageSignal({2, 3}, *dataset, 0, 8), ElementsAre(0, 0, 0, 1, 1, 0, 0, 0));
}

TEST(MovingAverage, ReadsCloseBeforeTheRangeButNoOtherSegment) {
  const auto dataset = DailyDataset({{5, 5, 5, 5}, {10, 10, 12, 13, 13}});
  EXPECT_THAT(MovingAverageSignal({1, 3}, *dataset, 6, 9), ElementsAre(1, 1, 1));
  EXPECT_THAT(MovingAverageSignal({1, 3}, *dataset, 4, 9), ElementsAre(0, 0, 1, 1, 1));
}

TEST(MovingAverage, NoLaterCloseChangesAnEarlierSignal) {
  std::vector<double> closes = Wave(300);
  const auto before = MovingAverageSignal({5, 20}, *DailyDataset({closes}), 0, 300);
  for (size_t i = 200; i < closes.size(); ++i) closes[i] = 1 + static_cast<double>(i % 3);
  const auto after = MovingAverageSignal({5, 20}, *DailyDataset({closes}), 0, 300);
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 200, after.begin()));
}

TEST(MovingAverage, TradesByTheEnvironmentsRules) {
  EvaluatorOptions options = Options({{10, 10, 10, 13, 13, 10, 9, 9}}, 19);
  options.moving_average = {2, 3};
  const Evaluation evaluation = RunEvaluation(options);
  // Buys 90 % of 100,000 at 13 (bar 3), sells at 10 (bar 5); 2.5 bp each way.
  const double units = 90'000 / 13.0;
  const double costs = 90'000 * 0.00025 + units * 10 * 0.00025;
  EXPECT_NEAR(evaluation.series.moving_average.back(), 100'000 - units * 3 - costs, 0.05);
  EXPECT_EQ(Value(evaluation.moving_average, Id::kClosedTrades), 1);
}

TEST(RandomTiming, TheRingAtDistanceZeroIsThePolicyItself) {
  EvaluatorOptions options = Options({Wave(400)});
  std::vector<uint8_t> actions;
  for (size_t i = 0; i < 399; ++i) actions.push_back((i / 9) % 3 == 0 ? 37 : i % 2 ? 1 : 28);
  options.scripted = actions;
  const Evaluation evaluation = RunEvaluation(options);
  // Books of the policy once more, from its own rules.
  const auto rules = kernels::MakeRules(ForEvaluation(options.settings, true), 0);
  const BookRun own = RunRule(rules, *options.dataset, evaluation.parts,
                              [&](uint64_t, uint64_t step) { return actions[step]; });
  const auto books = ShiftedBooks(own.steps, 0, 100'000);
  for (size_t i = 0; i < books.size(); ++i) {
    EXPECT_NEAR(books[i].equity, evaluation.series.equity[i], 1e-6);
  }
  EXPECT_NEAR(Value(evaluation.random, Id::kTurnover), Value(evaluation.policy, Id::kTurnover),
              0.02 * Value(evaluation.policy, Id::kTurnover));
  EXPECT_EQ(Value(evaluation.random, Id::kExposureTime),
            Value(evaluation.policy, Id::kExposureTime));
  EXPECT_EQ(evaluation.random[Id::kWinRate].reason, "moved exposures are not trades");
  EXPECT_EQ(evaluation.random_timing.band.step.back(), 398u);
  EXPECT_LE(evaluation.random_timing.total_return[0], Value(evaluation.random, Id::kTotalReturn));
  EXPECT_GE(evaluation.random_timing.total_return[2], Value(evaluation.random, Id::kTotalReturn));
}

TEST(Rule, GoesOnWithoutAPositionAfterARuin) {
  const auto dataset = DailyDataset({{100, 50, 15, 10, 12, 14}});
  const auto rules = kernels::MakeRules(ForEvaluation({}, false), 0);
  const std::vector<EvaluationPart> parts = {{.begin = 0, .end = 6, .steps = 5}};
  const BookRun run = RunRule(rules, *dataset, parts, [](uint64_t, uint64_t) { return 37; });
  ASSERT_EQ(run.steps.size(), 5u);
  EXPECT_TRUE(run.parts[0].ended_by_ruin);
  EXPECT_EQ(run.steps[4].position, 0);
  EXPECT_EQ(run.steps[4].equity, run.steps[2].equity);
  ASSERT_EQ(run.trades.size(), 1u);
  EXPECT_TRUE(run.trades[0].open);
  EXPECT_NEAR(run.trades[0].profit, run.steps[4].equity - 100'000, 1e-6);
}

TEST(Folds, ShareTheBarBetweenThemAndLoseNoStep) {
  const auto dataset = DailyDataset({Wave(101)});
  const auto plan = PlanParts(*dataset, {0, 101}, 4).value();
  ASSERT_EQ(plan.size(), 4u);
  uint64_t steps = 0;
  for (size_t i = 0; i < plan.size(); ++i) {
    EXPECT_EQ(plan[i].fold, i);
    EXPECT_EQ(plan[i].range.end - plan[i].range.begin, 26u);
    if (i > 0) {
      EXPECT_EQ(plan[i].range.begin + 1, plan[i - 1].range.end);
    }
    steps += plan[i].range.end - plan[i].range.begin - 1;
  }
  EXPECT_EQ(steps, 100u);
}

TEST(Folds, AreCutAtSegmentEndsToo) {
  const auto dataset = DailyDataset({Wave(30), Wave(30)});
  const auto plan = PlanParts(*dataset, {0, 60}, 3).value();
  ASSERT_EQ(plan.size(), 4u);
  EXPECT_EQ(plan[1].fold, 1u);
  EXPECT_EQ(plan[2].fold, 1u);
  EXPECT_EQ(plan[1].range.end, 30u);
  EXPECT_EQ(plan[2].range.begin, 30u);
}

TEST(Folds, MoreThanStepsAreRefused) {
  const auto dataset = DailyDataset({{1, 2, 3}});
  EXPECT_TRUE(absl::IsInvalidArgument(PlanParts(*dataset, {0, 3}, 3).status()));
  EXPECT_TRUE(PlanParts(*dataset, {0, 3}, 2).ok());
}

TEST(Folds, TheirReturnsChainToTheWhole) {
  EvaluatorOptions options = Options({Wave(200)});
  options.folds = 5;
  const Evaluation evaluation = RunEvaluation(options);
  ASSERT_EQ(evaluation.folds.size(), 5u);
  double own = 1, hold = 1;
  uint64_t steps = 0;
  for (const EvaluationFold& fold : evaluation.folds) {
    own *= 1 + Value(fold.policy, Id::kTotalReturn);
    hold *= 1 + Value(fold.buy_and_hold, Id::kTotalReturn);
    steps += fold.steps;
    EXPECT_EQ(Value(fold.policy, Id::kOpenTrades), 1);
  }
  EXPECT_EQ(steps, 199u);
  EXPECT_NEAR(own - 1, Value(evaluation.policy, Id::kTotalReturn), 1e-9);
  EXPECT_NEAR(hold - 1, Value(evaluation.buy_and_hold, Id::kTotalReturn), 1e-9);
}

TEST(Folds, EachMayHaveItsOwnPolicy) {
  EvaluatorOptions options = Options({Wave(200)});
  options.folds = 2;
  options.fold_weights = {ConstantPolicy(1, 37), ConstantPolicy(1, 19)};
  const Evaluation evaluation = RunEvaluation(options);
  EXPECT_TRUE(evaluation.fold_weights);
  EXPECT_EQ(Value(evaluation.folds[0].policy, Id::kLongTime), 1);
  EXPECT_EQ(Value(evaluation.folds[1].policy, Id::kExposureTime), 0);
  options.fold_weights.push_back(ConstantPolicy(1, 19));
  EXPECT_TRUE(absl::IsInvalidArgument(Evaluate(options).status()));
}

TEST(Costs, TwiceIsWhatAnEvaluationWithAllOfThemDoubledGives) {
  EvaluatorOptions options = Options({Wave(300)}, 1);
  options.settings.borrow_bps = 1;
  options.cost_scales = {4, 2};
  const Evaluation evaluation = RunEvaluation(options);
  ASSERT_EQ(evaluation.cost_scales.size(), 3u);
  EXPECT_EQ(evaluation.cost_scales[0].scale, 1);
  EXPECT_EQ(Value(evaluation.cost_scales[0].metrics, Id::kTotalReturn),
            Value(evaluation.policy, Id::kTotalReturn));
  for (float& cost : options.settings.cost_bps) cost *= 2;
  options.settings.spread *= 2;
  options.settings.borrow_bps *= 2;
  const Evaluation doubled = RunEvaluation(options);
  EXPECT_EQ(Value(evaluation.cost_scales[1].metrics, Id::kTotalReturn),
            Value(doubled.policy, Id::kTotalReturn));
  EXPECT_LT(Value(evaluation.cost_scales[2].metrics, Id::kTotalReturn),
            Value(doubled.policy, Id::kTotalReturn));
}

TEST(Costs, ARebateIsNotMultiplied) {
  kernels::EnvSettings settings;
  settings.cost_bps[3] = -0.5f;
  EXPECT_EQ(WithCosts(settings, 4).cost_bps[3], -0.5f);
  EXPECT_EQ(WithCosts(settings, 4).cost_bps[1], 6.0f);
}

TEST(Costs, BeyondTheSettingsRangesAreSaidNotRun) {
  EvaluatorOptions options = Options({Wave(50)});
  options.settings.cost_bps[1] = 900;
  options.cost_scales = {1, 4};
  const Evaluation evaluation = RunEvaluation(options);
  EXPECT_EQ(evaluation.cost_scales.size(), 1u);
  EXPECT_THAT(evaluation.warnings, Contains(HasSubstr("Costs times 4 were not run")));
}

TEST(Seeds, DifferAndDoNotDependOnHowManyThereAre) {
  EvaluatorOptions options = Options({Wave(150)});
  options.epsilon = 0.5f;
  options.seeds = 3;
  options.seed = 10;
  const Evaluation three = RunEvaluation(options);
  ASSERT_EQ(three.seeds.size(), 3u);
  EXPECT_EQ(three.seeds[2].seed, 12u);
  EXPECT_NE(Value(three.seeds[0].metrics, Id::kTotalReturn),
            Value(three.seeds[1].metrics, Id::kTotalReturn));
  EXPECT_EQ(Value(three.seeds[0].metrics, Id::kTotalReturn), Value(three.policy, Id::kTotalReturn));
  EXPECT_NEAR(static_cast<double>(three.statistics.explored) / 149, 0.5, 0.2);
  options.seeds = 1;
  options.seed = 12;
  EXPECT_EQ(Value(RunEvaluation(options).policy, Id::kTotalReturn),
            Value(three.seeds[2].metrics, Id::kTotalReturn));
}

TEST(Seeds, AGreedyPolicyRunsOnce) {
  EvaluatorOptions options = Options({Wave(50)});
  options.seeds = 5;
  EXPECT_EQ(RunEvaluation(options).seeds.size(), 1u);
}

TEST(Outcomes, OfExposuresAndBarriersAddUpToTheEquityChange) {
  EvaluatorOptions options = Options({Wave(300)});
  std::vector<uint8_t> actions;
  for (size_t i = 0; i < 299; ++i) actions.push_back((i / 9) % 3 == 0 ? 37 : i % 2 ? 1 : 19);
  options.scripted = actions;
  const Evaluation evaluation = RunEvaluation(options);
  const double change = evaluation.series.equity.back() - 100'000;
  double by_exposure = 0, by_barrier = 0;
  for (const Outcome& outcome : evaluation.by_exposure) by_exposure += outcome.profit;
  for (const Outcome& outcome : evaluation.by_barrier) by_barrier += outcome.profit;
  EXPECT_NEAR(by_exposure, change, 1e-6);
  EXPECT_NEAR(by_barrier, change, 1e-6);
  EXPECT_GT(evaluation.by_barrier[1].steps + evaluation.by_barrier[2].steps, 0u);
}

TEST(TradesCsv, HoldsTheWorkedExample) {
  EvaluatorOptions options = Options({kExampleCloses});
  const std::vector<uint8_t> actions(kExampleActions.begin(), kExampleActions.end());
  options.scripted = actions;
  const std::string csv = TradesCsv(RunEvaluation(options));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
  EXPECT_THAT(csv, HasSubstr("1,long,closed,1,0,1970-01-01T00:00:00Z,100,4,1970-01-05T00:00:00Z,98,"
                             "900,"));
  EXPECT_THAT(csv, HasSubstr("\n2,short,closed,1,4,"));
  EXPECT_THAT(csv,
              HasSubstr("\n4,long,open,1,11,1970-01-12T00:00:00Z,96,11,1970-01-13T00:00:00Z,99,"));
}

}  // namespace
}  // namespace vixen::tool
