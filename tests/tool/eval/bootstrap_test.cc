// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/bootstrap.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tool/eval/block_length.h"
#include "tool/eval/quantile.h"

namespace vixen::tool {
namespace {

constexpr double kYear = 252;
constexpr size_t kSharpe = 3;
constexpr size_t kDrawdown = 5;

// x ← φ x + e, e the sum of twelve uniforms less 6 (variance 1).
std::vector<double> AutoRegression(size_t count, double phi) {
  std::vector<double> values;
  uint32_t x = 1;
  double value = 0;
  for (size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int k = 0; k < 12; ++k) {
      x = x * 1'664'525u + 1'013'904'223u;
      sum += x / 4'294'967'296.0;
    }
    values.push_back(value = phi * value + (sum - 6));
  }
  return values;
}

std::vector<StepAccount> CurveOf(const std::vector<double>& returns) {
  std::vector<StepAccount> steps;
  double equity = 100;
  for (const double r : returns) {
    StepAccount step{.price = 1, .next_close = 1, .equity_before = equity};
    step.equity = equity *= 1 + r;
    steps.push_back(step);
  }
  return steps;
}

std::vector<double> Scaled(std::vector<double> values, double mean, double deviation) {
  for (double& value : values) value = mean + deviation * value;
  return values;
}

Bootstrap Resample(const std::vector<StepAccount>& steps, const std::vector<StepAccount>& hold,
                   BootstrapOptions options = {}) {
  const std::span<const StepAccount> runs[] = {steps};
  return BootstrapIntervals(runs, hold, kYear, 0, options);
}

// Expected: optimal_block_length of the Python package arch 7.2.0 over the same series.
TEST(BlockLength, EqualsThatOfTheArchPackage) {
  EXPECT_NEAR(StationaryBlockLength(AutoRegression(1'000, 0)), 1.2750974453826813, 1e-6);
  EXPECT_NEAR(StationaryBlockLength(AutoRegression(1'000, 0.5)), 13.269932380885447, 1e-6);
  EXPECT_NEAR(StationaryBlockLength(AutoRegression(1'000, 0.9)), 32.4330675413023, 1e-6);
  EXPECT_NEAR(StationaryBlockLength(AutoRegression(5'000, -0.4)), 15.422973020238885, 1e-6);
  EXPECT_NEAR(StationaryBlockLength(AutoRegression(200, 0.95)), 20.503046761313158, 1e-6);
}

TEST(BlockLength, IsOneWhereNothingVaries) {
  EXPECT_EQ(StationaryBlockLength(std::vector<double>(100, 0.5)), 1);
  EXPECT_EQ(StationaryBlockLength(std::vector<double>{1, 2}), 1);
}

TEST(BlockLength, NeverExceedsAThirdOfTheSeries) {
  std::vector<double> line;
  for (int i = 0; i < 60; ++i) line.push_back(i);
  EXPECT_LE(StationaryBlockLength(line), 20);
  EXPECT_GE(StationaryBlockLength(line), 1);
}

TEST(Bootstrap, GivesTheTextbookIntervalOfAMeanOfIndependentReturns) {
  const auto steps = CurveOf(Scaled(AutoRegression(2'000, 0), 0.0005, 0.01));
  const Bootstrap result = Resample(steps, steps, {.resamples = 2'000});
  ASSERT_TRUE(result.policy[kSharpe].has_value());
  const double width = result.policy[kSharpe]->high - result.policy[kSharpe]->low;
  EXPECT_NEAR(width, 2 * 1.96 * std::sqrt(kYear / 2'000), 0.1 * width);
  EXPECT_EQ(result.resamples, 2'000u);
  EXPECT_EQ(result.level, 0.95);
}

TEST(Bootstrap, BlocksWidenTheIntervalOfReturnsThatFollowEachOther) {
  const auto steps = CurveOf(Scaled(AutoRegression(4'000, 0.8), 0, 0.002));
  const Bootstrap blocks = Resample(steps, steps);
  const Bootstrap single = Resample(steps, steps, {.block_length = 1});
  EXPECT_GT(blocks.block_length, 10);
  EXPECT_TRUE(single.block_length_given);
  const auto width = [](const Bootstrap& b) { return b.policy[0]->high - b.policy[0]->low; };
  // The mean of an autoregression has 1/(1 − φ) = 5 times the deviation, less what finite blocks
  // miss.
  EXPECT_GT(width(blocks), 2 * width(single));
}

TEST(Bootstrap, ComparesWithBuyAndHoldOverTheSameBlocks) {
  const auto steps = CurveOf(Scaled(AutoRegression(500, 0), 0.0003, 0.01));
  const Bootstrap same = Resample(steps, steps);
  for (const auto& interval : same.difference) {
    ASSERT_TRUE(interval.has_value());
    EXPECT_EQ(interval->low, 0);
    EXPECT_EQ(interval->high, 0);
  }
  EXPECT_EQ(same.share_not_better, 1);
  const auto better = CurveOf(Scaled(AutoRegression(500, 0), 0.0004, 0.01));
  EXPECT_EQ(Resample(better, steps).share_not_better, 0);
}

TEST(Bootstrap, IsAFunctionOfItsSeed) {
  const auto steps = CurveOf(Scaled(AutoRegression(500, 0.3), 0.0003, 0.01));
  const Bootstrap first = Resample(steps, steps, {.resamples = 300, .seed = 5});
  const Bootstrap again = Resample(steps, steps, {.resamples = 300, .seed = 5});
  const Bootstrap other = Resample(steps, steps, {.resamples = 300, .seed = 6});
  EXPECT_EQ(first.policy[0]->low, again.policy[0]->low);
  EXPECT_NE(first.policy[0]->low, other.policy[0]->low);
}

TEST(Bootstrap, DrawsAmongTheSeedsRuns) {
  const auto up = CurveOf(std::vector<double>(100, 0.01));
  const auto down = CurveOf(std::vector<double>(100, -0.01));
  const std::span<const StepAccount> runs[] = {up, down};
  const Bootstrap result = BootstrapIntervals(runs, up, kYear, 0, {});
  EXPECT_NEAR(result.policy[0]->low, std::pow(0.99, 100) - 1, 1e-9);
  EXPECT_NEAR(result.policy[0]->high, std::pow(1.01, 100) - 1, 1e-9);
  EXPECT_NEAR(result.share_of_losses, 0.5, 0.08);
}

// 250,002 steps stay together in pairs: each resample is the curve itself.
TEST(Bootstrap, DrawdownsAreExactInsideUnits) {
  std::vector<double> returns;
  for (int i = 0; i < 125'001; ++i) {
    returns.push_back(0.01);
    returns.push_back(-0.01);
  }
  const auto steps = CurveOf(returns);
  const Bootstrap result = Resample(steps, steps, {.resamples = 20});
  EXPECT_EQ(result.unit, 2u);
  const double expected = 1 - std::pow(0.9999, 125'001) / 1.01;
  ASSERT_TRUE(result.policy[kDrawdown].has_value());
  EXPECT_NEAR(result.policy[kDrawdown]->low, expected, 1e-9);
  EXPECT_NEAR(result.policy[kDrawdown]->high, expected, 1e-9);
}

TEST(Bootstrap, SaysWhyThereAreNoIntervals) {
  const auto few = CurveOf(std::vector<double>(19, 0.01));
  EXPECT_EQ(Resample(few, few).reason, "fewer than 20 steps");
  const auto enough = CurveOf(std::vector<double>(20, 0.01));
  EXPECT_EQ(Resample(enough, enough, {.resamples = 0}).reason, "not asked for");
  auto ruined = enough;
  ruined.back().equity = -1;
  EXPECT_EQ(Resample(ruined, enough).reason, "the equity reached 0");
  EXPECT_EQ(Resample(few, enough).reason, "a run ended by ruin");
  const Bootstrap constant = Resample(enough, enough);
  EXPECT_GT(constant.resamples, 0u);
  EXPECT_FALSE(constant.policy[kSharpe].has_value());  // no variance
}

TEST(Quantile, IsLinearBetweenOrderStatistics) {
  const std::vector<double> values = {1, 2, 4};
  EXPECT_EQ(QuantileOf(values, 0), 1);
  EXPECT_EQ(QuantileOf(values, 0.25), 1.5);
  EXPECT_EQ(QuantileOf(values, 1), 4);
}

}  // namespace
}  // namespace vixen::tool
