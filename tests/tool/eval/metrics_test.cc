// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tool/eval/worked_example.h"
#include "tool/eval/annualisation.h"
#include "tool/eval/random_timing.h"

namespace vixen::tool {
namespace {

using Id = MetricId;
using ::testing::HasSubstr;

constexpr int64_t kDay = 86'400'000'000'000;

std::vector<int64_t> DailyTimes(size_t count) {
  std::vector<int64_t> times;
  for (size_t i = 0; i < count; ++i) times.push_back(static_cast<int64_t>(i) * kDay);
  return times;
}

// An equity curve as steps that hold one unit of cash account only.
std::vector<StepAccount> Curve(const std::vector<double>& equity) {
  std::vector<StepAccount> steps;
  for (size_t i = 1; i < equity.size(); ++i) {
    StepAccount step;
    step.price = step.next_close = 1;
    step.equity_before = equity[i - 1];
    step.equity = equity[i];
    steps.push_back(step);
  }
  return steps;
}

void ExpectNear(const Metric& metric, double expected, double relative = 1e-9) {
  ASSERT_TRUE(metric.value.has_value()) << metric.reason;
  EXPECT_NEAR(*metric.value, expected, std::abs(expected) * relative);
}

struct Example {
  std::vector<StepAccount> steps = TradeExactly({}, kExampleCloses, kExampleActions);
  std::vector<Trade> trades = TradesOf(steps, DailyTimes(kExampleCloses.size()), 0);
  Metrics metrics = ComputeMetrics(100'000, steps, trades, 252);
};

TEST(WorkedExample, HasTheEquityAfterEachStep) {
  const Example example;
  ASSERT_EQ(example.steps.size(), kExampleEquity.size());
  for (size_t i = 0; i < kExampleEquity.size(); ++i) {
    EXPECT_NEAR(example.steps[i].equity, kExampleEquity[i], 5e-8) << "step " << i;
  }
}

TEST(WorkedExample, HasTheReturnAndRiskOfThePolicy) {
  const Example example;
  ExpectNear(example.metrics[Id::kTotalReturn], 0.002764929765);
  ExpectNear(example.metrics[Id::kAnnualReturn], 0.05969740664);
  ExpectNear(example.metrics[Id::kVolatility], 0.2511494462);
  ExpectNear(example.metrics[Id::kSharpe], 0.3461575896);
  ExpectNear(example.metrics[Id::kSortino], 0.5033221996);
  ExpectNear(example.metrics[Id::kMaxDrawdown], 0.04989197839);
  ExpectNear(example.metrics[Id::kDrawdownDuration], 10);
  EXPECT_FALSE(example.metrics.recovered);
  ExpectNear(example.metrics[Id::kCalmar], 1.196533162);
  EXPECT_FALSE(example.metrics.ruined);
}

TEST(WorkedExample, HasTheActivityAndCostsOfThePolicy) {
  const Example example;
  ExpectNear(example.metrics[Id::kExposureTime], 0.75);
  ExpectNear(example.metrics[Id::kLongTime], 7.0 / 12);
  ExpectNear(example.metrics[Id::kShortTime], 2.0 / 12);
  ExpectNear(example.metrics[Id::kMeanExposure], 0.5985548917);
  ExpectNear(example.metrics[Id::kTradedNotional], 627'074.4116866);
  ExpectNear(example.metrics[Id::kTurnover], 6.263756758);
  ExpectNear(example.metrics[Id::kTurnoverYear], 131.5388919);
  ExpectNear(example.metrics[Id::kCosts], 156.7686029216);
  ExpectNear(example.metrics[Id::kCostsOfCapital], 0.001567686029216);
}

TEST(WorkedExample, HasTheThreeClosedTradesAndTheOpenOne) {
  const Example example;
  ASSERT_EQ(example.trades.size(), 4u);
  EXPECT_NEAR(example.trades[0].profit, 411.9306416869, 1e-8);
  EXPECT_EQ(example.trades[0].bars, 4u);
  EXPECT_EQ(example.trades[0].resizes, 1u);
  EXPECT_NEAR(example.trades[1].profit, -967.5662898287, 1e-8);
  EXPECT_EQ(example.trades[1].bars, 2u);
  EXPECT_LT(example.trades[1].units, 0);
  EXPECT_NEAR(example.trades[2].profit, -1'889.6479626118, 1e-8);
  EXPECT_EQ(example.trades[2].bars, 2u);
  const Trade& open = example.trades[3];
  EXPECT_TRUE(open.open);
  EXPECT_NEAR(open.last_units, 914.5754661492, 1e-8);
  EXPECT_EQ(open.entry_price, 96);
  EXPECT_EQ(open.exit_price, 99);
  EXPECT_NEAR(open.profit, 2'721.7765872600, 1e-8);
  ExpectNear(example.metrics[Id::kWinRate], 1.0 / 3);
  ExpectNear(example.metrics[Id::kProfitFactor], 0.1441721220);
  ExpectNear(example.metrics[Id::kExpectancy], -815.0945369);
  ExpectNear(example.metrics[Id::kMeanBarsHeld], 8.0 / 3);
}

TEST(WorkedExample, ClosedAndOpenProfitsAreTheEquityChange) {
  const Example example;
  EXPECT_NEAR(*example.metrics[Id::kClosedProfit].value + *example.metrics[Id::kOpenProfit].value,
              276.4929765064, 1e-8);
}

TEST(WorkedExample, HasBuyAndHoldBeside) {
  const std::vector<StepAccount> hold = BuyAndHold(100'000, kExampleCloses, 2.5e-4);
  const auto trades = TradesOf(hold, DailyTimes(kExampleCloses.size()), 0);
  const Metrics metrics = ComputeMetrics(100'000, hold, trades, 252);
  ExpectNear(metrics[Id::kTotalReturn], -0.01024743814);
  ExpectNear(metrics[Id::kAnnualReturn], -0.1945115350);
  ExpectNear(metrics[Id::kVolatility], 0.3645648064);
  ExpectNear(metrics[Id::kSharpe], -0.4247305846);
  ExpectNear(metrics[Id::kMaxDrawdown], 0.07766990291);
  ExpectNear(metrics[Id::kMeanExposure], 1, 1e-3);
  ExpectNear(metrics[Id::kExposureTime], 1);
  ExpectNear(metrics[Id::kCosts], 24.9937515621);
  EXPECT_FALSE(metrics[Id::kWinRate].value.has_value());
  EXPECT_EQ(metrics[Id::kWinRate].reason, "no closed trade");
}

TEST(WorkedExample, FlatEarnsNothingAndHasNoSharpe) {
  const Metrics metrics = ComputeMetrics(100'000, StayFlat(100'000, kExampleCloses), {}, 252);
  EXPECT_EQ(metrics[Id::kTotalReturn].value, 0.0);
  EXPECT_EQ(metrics[Id::kVolatility].value, 0.0);
  EXPECT_EQ(metrics[Id::kMaxDrawdown].value, 0.0);
  EXPECT_EQ(metrics[Id::kSharpe].value, std::nullopt);
  EXPECT_EQ(metrics[Id::kSharpe].reason, "no variance of returns");
  EXPECT_EQ(metrics[Id::kSortino].reason, "no losing step");
  EXPECT_EQ(metrics[Id::kCalmar].reason, "no drawdown");
}

TEST(Metrics, ReturnsAreDividedByTheStartAndDrawdownSeesTheFirstLoss) {
  const auto steps = Curve({100, 50, 100});
  const Metrics metrics = ComputeMetrics(100, steps, {}, 1);
  // −0.5 and +1: mean 0.25, sample deviation 1.0606601718.
  ExpectNear(metrics[Id::kVolatility], 1.0606601718, 1e-9);
  ExpectNear(metrics[Id::kMaxDrawdown], 0.5);
  ExpectNear(metrics[Id::kDrawdownDuration], 2);
  EXPECT_TRUE(metrics.recovered);
  EXPECT_THAT(Drawdowns(100, steps), ::testing::ElementsAre(0.5, 0.0));
}

TEST(Metrics, SharpeAndSortinoAStepAreNotClipped) {
  const Metrics metrics = ComputeMetrics(100, Curve({100, 50, 100}), {}, 1);
  ExpectNear(metrics[Id::kSharpe], 0.2357022604, 1e-9);
  ExpectNear(metrics[Id::kSortino], 0.7071067812, 1e-9);
  const Metrics falling = ComputeMetrics(100, Curve({100, 90, 85}), {}, 1);
  EXPECT_LT(*falling[Id::kSharpe].value, 0);
}

TEST(Metrics, ProfitFactorIsOfCashAndNullWithoutLosses) {
  Trade win{.bars = 1, .profit = 50};
  Trade loss{.bars = 1, .profit = -50};
  const auto steps = Curve({100, 50, 100});
  const std::vector<Trade> both = {loss, win};
  ExpectNear(ComputeMetrics(100, steps, both, 1)[Id::kProfitFactor], 1.0);
  const std::vector<Trade> wins = {win};
  const Metrics metrics = ComputeMetrics(100, steps, wins, 1);
  EXPECT_EQ(metrics[Id::kProfitFactor].value, std::nullopt);
  EXPECT_EQ(metrics[Id::kProfitFactor].reason, "no losing trade");
}

TEST(Metrics, AnOpenTradeIsNotAmongTheClosedOnes) {
  const std::vector<StepAccount> steps = TradeExactly({}, {100, 110}, {37});
  const auto trades = TradesOf(steps, DailyTimes(2), 0);
  const Metrics metrics = ComputeMetrics(100'000, steps, trades, 252);
  EXPECT_EQ(metrics[Id::kClosedTrades].value, 0.0);
  EXPECT_EQ(metrics[Id::kOpenTrades].value, 1.0);
  ExpectNear(metrics[Id::kOpenProfit], steps.back().equity - 100'000);
  EXPECT_EQ(metrics[Id::kAnnualReturn].reason, "");
  EXPECT_EQ(metrics[Id::kVolatility].reason, "fewer than 2 steps");
}

TEST(Metrics, EquityBelowZeroIsRuinWithThePlainTotalReturn) {
  const Metrics metrics = ComputeMetrics(100, Curve({100, 50, -20}), {}, 252);
  EXPECT_TRUE(metrics.ruined);
  ExpectNear(metrics[Id::kTotalReturn], -1.2);
  EXPECT_EQ(metrics[Id::kAnnualReturn].value, std::nullopt);
  EXPECT_EQ(metrics[Id::kCalmar].reason, "equity reached 0");
  EXPECT_TRUE(metrics[Id::kVolatility].value.has_value());
}

TEST(Metrics, EveryValueIsANumberOrHasAReason) {
  const std::vector<std::vector<double>> curves = {
      {100, 100}, {100, 0, 0}, {100, -1, 5, 7}, {100, 1e300, 1e-300}, {100, 100, 100}};
  for (const auto& curve : curves) {
    const Metrics metrics = ComputeMetrics(100, Curve(curve), {}, 525'600);
    for (const MetricSpec& spec : MetricSpecs()) {
      const Metric& metric = metrics[spec.id];
      EXPECT_NE(metric.value.has_value(), !metric.reason.empty()) << spec.key;
      EXPECT_TRUE(std::isfinite(metric.value.value_or(0))) << spec.key;
    }
  }
  EXPECT_EQ(ComputeMetrics(100, {}, {}, 252)[Id::kTotalReturn].reason, "no step");
}

TEST(Metrics, TheRiskFreeRateIsTakenOffAStep) {
  const auto steps = Curve({100, 102, 101, 103});
  const Metrics with = ComputeMetrics(100, steps, {}, 252, 0.0252);
  const Metrics without = ComputeMetrics(100, steps, {}, 252);
  ExpectNear(with[Id::kVolatility], *without[Id::kVolatility].value);
  EXPECT_LT(*with[Id::kSharpe].value, *without[Id::kSharpe].value);
}

TEST(Metrics, SpecsAreInTheOrderOfTheirIds) {
  for (size_t i = 0; i < kMetricCount; ++i) {
    EXPECT_EQ(static_cast<size_t>(MetricSpecs()[i].id), i);
    EXPECT_FALSE(MetricSpecs()[i].key.empty());
  }
}

TEST(Account, BooksAFlipAsACloseAndAnOpening) {
  const auto steps = TradeExactly({}, {100, 102, 102}, {37, 1});
  ASSERT_EQ(steps[1].fill_count, 2);
  EXPECT_NEAR(steps[1].fills[0].units, -900, 1e-9);
  EXPECT_NEAR(steps[1].fills[0].cost, 22.95, 1e-9);
  EXPECT_NEAR(steps[1].equity_before - steps[1].fills[0].cost, 101'754.55, 1e-9);
  EXPECT_NEAR(steps[1].position, -897.834264705882, 1e-9);
  EXPECT_NEAR(steps[1].fills[1].cost, 22.89477375, 1e-9);
  EXPECT_NEAR(steps[1].costs(), 45.84477375, 1e-9);
}

TEST(Account, CountsFeesOnBothSidesOfARoundTrip) {
  const auto steps = TradeExactly({}, {100, 100, 100}, {37, 19});
  EXPECT_NEAR(steps[1].equity, 99'955.0, 1e-9);
  const auto trades = TradesOf(steps, DailyTimes(3), 0);
  ASSERT_EQ(trades.size(), 1u);
  EXPECT_NEAR(trades[0].profit, -45.0, 1e-9);
  EXPECT_NEAR(trades[0].costs, 45.0, 1e-9);
}

TEST(Account, ChargesInterestWhileAShortStands) {
  ExactMarket market;
  market.borrow_bps = 1;
  const auto steps = TradeExactly(market, {100, 101, 100, 99}, {1, 1, 28});
  EXPECT_NEAR(steps[0].costs(), 22.5 + 9, 1e-9);
  EXPECT_NEAR(steps[0].equity, 99'068.5, 1e-9);
  EXPECT_EQ(steps[1].fill_count, 0);
  EXPECT_NEAR(steps[1].interest, 9.09, 1e-9);
  EXPECT_NEAR(steps[2].costs(), 22.5 + 11.242902375, 1e-9);
  EXPECT_NEAR(steps[2].equity, 99'475.951002625, 1e-8);
  const auto trades = TradesOf(steps, DailyTimes(4), 0);
  double profit = 0;
  for (const Trade& trade : trades) profit += trade.profit;
  EXPECT_NEAR(profit, steps.back().equity - 100'000, 1e-8);
}

TEST(Account, ARebateIsANegativeCost) {
  ExactMarket market;
  market.spread = 0;
  market.cost_bps[1] = -0.5;
  const auto steps = TradeExactly(market, {100, 100}, {37});
  EXPECT_NEAR(steps[0].costs(), -4.5, 1e-9);
  EXPECT_NEAR(steps[0].equity, 100'004.5, 1e-9);
}

TEST(Annualisation, IsMeasuredOverAYearOrMore) {
  const std::vector<int64_t> times = DailyTimes(731 + 1);
  std::vector<uint8_t> last(times.size(), 0);
  last.back() = 1;
  const auto result = ChooseAnnualisation(times, last, 731, Calendar::kEquity);
  EXPECT_NEAR(result.steps_a_year, 365.25, 1e-9);
  EXPECT_THAT(result.how, HasSubstr("measured"));
}

TEST(Annualisation, ComesFromTheCalendarBelowAYear) {
  const std::vector<int64_t> days = DailyTimes(13);
  std::vector<uint8_t> last(13, 0);
  last.back() = 1;
  EXPECT_EQ(ChooseAnnualisation(days, last, 12, Calendar::kEquity).steps_a_year, 252);
  EXPECT_EQ(ChooseAnnualisation(days, last, 12, Calendar::k24x7).steps_a_year, 365);
  std::vector<int64_t> minutes;
  for (int64_t i = 0; i < 13; ++i) minutes.push_back(i * 60'000'000'000);
  EXPECT_EQ(ChooseAnnualisation(minutes, last, 12, Calendar::k24x7).steps_a_year, 525'600);
  EXPECT_EQ(ChooseAnnualisation(minutes, last, 12, Calendar::kEquity).steps_a_year, 98'280);
  EXPECT_EQ(ChooseAnnualisation(minutes, last, 12, Calendar::kFx).steps_a_year, 374'400);
  EXPECT_EQ(ChooseAnnualisation(minutes, last, 12, Calendar::kFutures).steps_a_year, 347'760);
}

TEST(Annualisation, PartsThatOverlapInTimeCountOneByOne) {
  std::vector<int64_t> times = DailyTimes(400);
  const std::vector<int64_t> again = times;
  times.insert(times.end(), again.begin(), again.end());
  std::vector<uint8_t> last(800, 0);
  last[399] = last[799] = 1;
  const auto result = ChooseAnnualisation(times, last, 798, Calendar::k24x7);
  EXPECT_NEAR(result.steps_a_year, 365.25, 1e-9);
}

TEST(Annualisation, AnUnknownCalendarIsAUsageError) {
  const auto calendar = ParseCalendar("lunar");
  EXPECT_EQ(calendar.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(calendar.status().message()), HasSubstr("lunar"));
}

TEST(RandomTiming, SeesThatForesightBeatsEveryShift) {
  std::vector<StepAccount> steps;
  uint32_t x = 1;
  for (int i = 0; i < 1'000; ++i) {
    x = x * 1'664'525 + 1'013'904'223;
    const double move = (x >> 31) != 0 ? 0.01 : -0.01;
    StepAccount step;
    step.price = 100;
    step.next_close = 100 * (1 + move);
    step.equity_before = 100;
    step.position = move > 0 ? 1 : -1;
    steps.push_back(step);
  }
  const RandomTiming timing = CompareWithRandomTiming(steps);
  EXPECT_EQ(timing.shifts, 200u);
  EXPECT_EQ(timing.as_good, 0);
  EXPECT_NEAR(timing.mean_return, 0.01, 1e-12);
}

TEST(RandomTiming, AConstantExposureTiesWithEveryShift) {
  std::vector<StepAccount> steps(500);
  for (size_t i = 0; i < steps.size(); ++i) {
    steps[i].price = 100;
    steps[i].next_close = 100 + 0.1 * static_cast<double>(i % 7) - 0.25;
    steps[i].equity_before = 100;
    steps[i].position = 1;
  }
  EXPECT_EQ(CompareWithRandomTiming(steps).as_good, 1);
}

TEST(RandomTiming, SaysNothingAboutFewSteps) {
  const std::vector<StepAccount> steps(kLeastStepsForTiming - 1);
  EXPECT_EQ(CompareWithRandomTiming(steps).shifts, 0u);
}

}  // namespace
}  // namespace vixen::tool
