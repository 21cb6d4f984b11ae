// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_join.h"
#include "tests/tool/eval/worked_example.h"
#include "tests/tool/hand_made.h"

namespace vixen::tool {
namespace {

using Id = MetricId;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

EvaluatorOptions Options(std::vector<std::vector<double>> segments) {
  EvaluatorOptions options;
  options.dataset = DailyDataset(std::move(segments));
  options.range = {0, options.dataset->bars()};
  options.weights = ConstantPolicy(options.dataset->feature_count(), 19);
  return options;
}

Evaluation RunEvaluation(const EvaluatorOptions& options) {
  absl::StatusOr<Evaluation> evaluation = Evaluate(options);
  EXPECT_TRUE(evaluation.ok()) << evaluation.status();
  return evaluation.ok() ? *std::move(evaluation) : Evaluation();
}

void ExpectNear(const Metric& metric, double expected, double relative) {
  ASSERT_TRUE(metric.value.has_value()) << metric.reason;
  EXPECT_NEAR(*metric.value, expected, std::abs(expected) * relative);
}

// The positions are the executor's float32 ones: seven digits, against figures in exact fractions.
TEST(Evaluator, GivesTheWorkedExampleThroughTheExecutor) {
  EvaluatorOptions options = Options({kExampleCloses});
  const std::vector<uint8_t> actions(kExampleActions.begin(), kExampleActions.end());
  options.scripted = actions;
  options.calendar = Calendar::kEquity;
  const Evaluation evaluation = RunEvaluation(options);
  ASSERT_EQ(evaluation.steps(), kExampleEquity.size());
  for (size_t i = 0; i < kExampleEquity.size(); ++i) {
    EXPECT_NEAR(evaluation.series.equity[i], kExampleEquity[i], 0.02) << "step " << i;
  }
  EXPECT_EQ(evaluation.annualisation.steps_a_year, 252);
  ExpectNear(evaluation.policy[Id::kTotalReturn], 0.002764929765, 1e-4);
  ExpectNear(evaluation.policy[Id::kAnnualReturn], 0.05969740664, 1e-4);
  ExpectNear(evaluation.policy[Id::kVolatility], 0.2511494462, 1e-5);
  ExpectNear(evaluation.policy[Id::kSharpe], 0.3461575896, 1e-4);
  ExpectNear(evaluation.policy[Id::kMaxDrawdown], 0.04989197839, 1e-5);
  ExpectNear(evaluation.policy[Id::kDrawdownDuration], 10, 0);
  ExpectNear(evaluation.policy[Id::kMeanExposure], 0.5985548917, 1e-5);
  ExpectNear(evaluation.policy[Id::kTurnover], 6.263756758, 1e-5);
  ExpectNear(evaluation.policy[Id::kCosts], 156.7686029216, 1e-5);
  ExpectNear(evaluation.policy[Id::kProfitFactor], 0.1441721220, 1e-4);
  ASSERT_EQ(evaluation.trades.size(), 4u);
  EXPECT_TRUE(evaluation.trades[3].open);
  EXPECT_NEAR(evaluation.trades[3].profit, 2'721.77658726, 0.01);
  ExpectNear(evaluation.buy_and_hold[Id::kTotalReturn], -0.01024743814, 1e-6);
  ExpectNear(evaluation.buy_and_hold[Id::kCosts], 24.9937515621, 1e-6);
  EXPECT_LT(evaluation.largest_equity_difference, 1e-6);
}

TEST(Evaluator, ClosedAndOpenProfitsAreTheEquityChangeOverAllParts) {
  EvaluatorOptions options = Options({{100, 101, 99, 102}, {50, 49, 51, 52, 50}});
  const std::vector<uint8_t> actions = {37, 1, 28, 1, 37, 37, 28};
  options.scripted = actions;
  const Evaluation evaluation = RunEvaluation(options);
  ASSERT_EQ(evaluation.parts.size(), 2u);
  EXPECT_EQ(evaluation.steps(), 7u);
  const double change = evaluation.series.equity.back() - evaluation.initial_capital;
  EXPECT_NEAR(
      *evaluation.policy[Id::kClosedProfit].value + *evaluation.policy[Id::kOpenProfit].value,
      change, 1e-8);
  EXPECT_EQ(evaluation.policy[Id::kOpenTrades].value, 2.0);
  EXPECT_EQ(evaluation.parts[1].capital, evaluation.series.equity[2]);
}

TEST(Evaluator, ChainsTheReturnsOfParts) {
  EvaluatorOptions options = Options({{100, 110, 110}, {100, 110, 110}});
  const std::vector<uint8_t> actions = {37, 37, 37, 37};
  options.scripted = actions;
  const Evaluation evaluation = RunEvaluation(options);
  const double first = evaluation.series.equity[1] / 100'000;
  EXPECT_NEAR(evaluation.series.equity[3] / 100'000, first * first, 1e-9);
  EXPECT_EQ(evaluation.statistics.truncated, 2u);
}

TEST(Evaluator, AConstantPolicyTakesItsActionEveryStep) {
  EvaluatorOptions options = Options({{100, 101, 102, 103, 104}});
  options.weights = ConstantPolicy(options.dataset->feature_count(), 37);
  const Evaluation evaluation = RunEvaluation(options);
  EXPECT_EQ(evaluation.action[37], 4u);
  EXPECT_EQ(evaluation.statistics.exposure_class[4], 4u);
  EXPECT_NEAR(evaluation.series.equity.back(), 100'000 + 900 * 4 - 22.5, 0.02);
  EXPECT_THAT(evaluation.warnings, Contains(HasSubstr("hardly decides: action 37")));
  EXPECT_THAT(evaluation.warnings, Contains(HasSubstr("Few trades")));
}

// Profit alone pays in one, risk alone costs in the other: the same equity, opposite rewards.
TEST(Evaluator, TellsWhetherRewardAndEquityRiseTogether) {
  const auto correlation = [](float pnl_scale, float risk_scale) {
    EvaluatorOptions options = Options({{100, 101, 102, 103, 104, 105, 106}});
    options.settings.pnl_scale = pnl_scale;
    options.settings.risk_scale = risk_scale;
    options.settings.diversity_penalty = 0;
    options.settings.curiosity_max = 0;
    options.settings.barrier_bonus = 0;
    options.weights = ConstantPolicy(options.dataset->feature_count(), 37);
    const Evaluation evaluation = RunEvaluation(options);
    EXPECT_NEAR(*evaluation.policy[Id::kTotalReturn].value, 900.0 * 6 / 100'000 - 22.5e-5, 1e-5);
    EXPECT_EQ(evaluation.reward_equity_correlation.value_or(0) < 0,
              absl::StrJoin(evaluation.warnings, " ").find("Reward and equity move against") !=
                  std::string::npos);
    return evaluation.reward_equity_correlation;
  };
  const std::optional<double> paid = correlation(1, 0), punished = correlation(0, 1);
  ASSERT_TRUE(paid && punished);
  EXPECT_GT(*paid, 0.9);
  EXPECT_LT(*punished, -0.9);
  EXPECT_FALSE(correlation(0, 0)) << "a reward that never varies has none";
}

TEST(Evaluator, AFlatPolicyEqualsFlatAndSaysSo) {
  const Evaluation evaluation = RunEvaluation(Options({{100, 101, 102, 103, 104}}));
  EXPECT_EQ(evaluation.policy[Id::kTotalReturn].value, 0.0);
  EXPECT_EQ(evaluation.policy[Id::kSharpe].reason, "no variance of returns");
  EXPECT_TRUE(evaluation.trades.empty());
  EXPECT_THAT(evaluation.warnings, Contains(HasSubstr("never traded")));
}

TEST(Evaluator, RuinEndsThePart) {
  EvaluatorOptions options = Options({{100, 50, 15, 10, 12, 14}});
  const std::vector<uint8_t> actions = {37, 37, 37, 37, 37};
  options.scripted = actions;
  const Evaluation evaluation = RunEvaluation(options);
  ASSERT_EQ(evaluation.parts.size(), 1u);
  EXPECT_TRUE(evaluation.parts[0].ended_by_ruin);
  EXPECT_LT(evaluation.steps(), 5u);
  EXPECT_THAT(evaluation.warnings, Contains(HasSubstr("Ruined at")));
}

TEST(Evaluator, EquityBelowZeroIsMarkedRuined) {
  EvaluatorOptions options = Options({{100, 300, 300}, {100, 101, 102}});
  const std::vector<uint8_t> actions = {1, 1, 37, 37};
  options.scripted = actions;
  const Evaluation evaluation = RunEvaluation(options);
  EXPECT_TRUE(evaluation.policy.ruined);
  EXPECT_EQ(evaluation.parts.size(), 1u);
  EXPECT_LT(*evaluation.policy[Id::kTotalReturn].value, -0.75);
  EXPECT_FALSE(evaluation.policy[Id::kAnnualReturn].value.has_value());
  EXPECT_THAT(evaluation.warnings, Contains(HasSubstr("were not traded")));
}

TEST(Evaluator, BarriersNeverEndAnEpisode) {
  EvaluatorOptions options = Options({{100, 110, 121, 110, 100, 90}});
  options.settings.on_barrier = kernels::OnBarrier::kTerminate;
  options.settings.max_episode_steps = 2;
  const std::vector<uint8_t> actions = {37, 37, 37, 37, 37};
  options.scripted = actions;
  const Evaluation evaluation = RunEvaluation(options);
  EXPECT_EQ(evaluation.steps(), 5u);
  EXPECT_GT(evaluation.statistics.barrier_result[1], 0u);
}

TEST(Evaluator, PartsLongerThanALaunchGoOnFromLaunchToLaunch) {
  std::vector<double> closes;
  for (int i = 0; i < 70'000; ++i) closes.push_back(100 + std::sin(i * 0.01));
  EvaluatorOptions options = Options({closes});
  options.timing_shifts = 5;
  std::vector<uint8_t> actions(closes.size() - 1);
  for (size_t i = 0; i < actions.size(); ++i) actions[i] = (i / 100) % 2 == 0 ? 37 : 1;
  options.scripted = actions;
  const Evaluation evaluation = RunEvaluation(options);
  EXPECT_EQ(evaluation.steps(), 69'999u);
  EXPECT_EQ(evaluation.parts.size(), 1u);
  EXPECT_LT(evaluation.largest_equity_difference, 1e-3);
}

TEST(Evaluator, SaysThatFreeTradingAndShortSpansAreNoYear) {
  EvaluatorOptions options = Options({{100, 101, 102, 101, 103}});
  options.weights = ConstantPolicy(options.dataset->feature_count(), 37);
  EXPECT_THAT(RunEvaluation(options).warnings, Contains(HasSubstr("The range spans 4 days")));
  EXPECT_THAT(RunEvaluation(options).warnings, Not(Contains(HasSubstr("Nothing was paid"))));
  for (float& bps : options.settings.cost_bps) bps = 0;
  options.settings.spread = 0;
  EXPECT_THAT(RunEvaluation(options).warnings, Contains(HasSubstr("Nothing was paid")));
}

TEST(Evaluator, SaysWhenTheEquityLeftWhatEpisodesShow) {
  const auto warnings = [](std::vector<double> closes) {
    EvaluatorOptions options = Options({std::move(closes)});
    options.weights = ConstantPolicy(options.dataset->feature_count(), 37);
    return RunEvaluation(options).warnings;
  };
  EXPECT_THAT(warnings({100, 150, 250, 230}), Contains(HasSubstr("The equity went to 2.35 times")));
  EXPECT_THAT(warnings({100, 70, 40, 41}), Contains(HasSubstr("The equity went to 0.46 times")));
  EXPECT_THAT(warnings({100, 120, 150, 140}), Not(Contains(HasSubstr("The equity went to"))));
}

TEST(Evaluator, CostsAreThoseOfTheSettings) {
  EvaluatorOptions options = Options({{100, 100, 100}});
  for (float& bps : options.settings.cost_bps) bps = 0;
  options.settings.spread = 0;
  const std::vector<uint8_t> actions = {37, 19};
  options.scripted = actions;
  EXPECT_EQ(RunEvaluation(options).policy[Id::kCosts].value, 0.0);
}

TEST(Evaluator, SurvivesTheFileFormat) {
  EvaluatorOptions options = Options({kExampleCloses});
  const std::vector<uint8_t> actions(kExampleActions.begin(), kExampleActions.end());
  options.scripted = actions;
  Evaluation evaluation = RunEvaluation(options);
  evaluation.settings = {{"spread", "0.0002"}, {"on_barrier", "RELABEL"}};
  evaluation.identity.policy = "a \"quoted\" name";
  const std::string text = EvaluationToJson(evaluation);
  EXPECT_THAT(text, ::testing::Not(HasSubstr("nan")));
  const absl::StatusOr<Evaluation> read = ParseEvaluation(text, "e.json");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(EvaluationToJson(*read), text);
  EXPECT_EQ(read->identity.policy, evaluation.identity.policy);
  EXPECT_EQ(read->flat[Id::kSharpe].reason, "no variance of returns");
}

TEST(EvaluationFile, NamesWhatIsWrong) {
  const Evaluation evaluation = RunEvaluation(Options({{100, 101, 102}}));
  const std::string text = EvaluationToJson(evaluation);
  const auto fault = [&](const std::string& from, const std::string& to) {
    std::string broken = text;
    const size_t at = broken.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    broken.replace(at, from.size(), to);
    const absl::Status status = ParseEvaluation(broken, "e.json").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << from;
    return std::string(status.message());
  };
  EXPECT_THAT(fault("\"format\":\"vixen evaluation\"", "\"format\":\"other\""),
              HasSubstr("e.json: is not an evaluation file"));
  EXPECT_THAT(fault("\"format_version\":3", "\"format_version\":99"), HasSubstr("99"));
  EXPECT_THAT(fault("\"initial_capital\":", "\"initial_kapital\":"),
              HasSubstr("initial_capital is missing"));
  EXPECT_THAT(fault("\"close\":[101.0,", "\"close\":["), HasSubstr("series.close has 1 values"));
  EXPECT_THAT(fault("\"first_step\":0", "\"first_step\":7"), HasSubstr("parts"));
  EXPECT_EQ(ParseEvaluation("{", "e.json").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseEvaluation("[]", "e.json").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseEvaluation("", "e.json").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace vixen::tool
