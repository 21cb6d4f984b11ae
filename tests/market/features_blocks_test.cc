// SPDX-License-Identifier: Apache-2.0
// The building blocks that work on several values at a time give what one value at a time gives.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "market/features/logarithm.h"
#include "market/features/windows.h"

namespace vixen::market {
namespace {

std::vector<double> Values(size_t count) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values;
  while (values.size() < count) values.push_back(100 + std::round(uniform(random) * 20) / 4);
  return values;
}

double StepsApart(double a, double b) {
  return std::abs(static_cast<double>(std::bit_cast<int64_t>(a) - std::bit_cast<int64_t>(b)));
}

TEST(Logarithm, IsWithinOneUnitInTheLastPlace) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-300, 300), near_one(-0.01, 0.01);
  std::vector<double> x;
  for (int i = 0; i < 100'000; ++i) {
    x.push_back(std::exp2(exponent(random)));
    x.push_back(1 + near_one(random));
    x.push_back(1 + near_one(random) * 1e-9);
  }
  std::vector<double> got = x;
  LogInPlace(got.data(), got.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = static_cast<double>(std::log(static_cast<long double>(x[i])));
    ASSERT_LE(StepsApart(got[i], exact), 1) << x[i];
  }
}

TEST(Logarithm, DoesNotDependOnPlaceOrNeighbours) {
  const std::vector<double> x = Values(600);
  std::vector<double> together = x;
  LogInPlace(together.data(), together.size());
  for (size_t i = 0; i < x.size(); ++i) {
    double alone = x[i];
    LogInPlace(&alone, 1);
    ASSERT_EQ(std::bit_cast<uint64_t>(alone), std::bit_cast<uint64_t>(together[i]));
  }
}

TEST(Logarithm, KnowsOneZeroInfinityAndTheSmallestNumbers) {
  const double smallest = std::numeric_limits<double>::denorm_min();
  double x[] = {1, 0, std::numeric_limits<double>::infinity(), smallest, 100};
  LogInPlace(x, 5);
  EXPECT_EQ(x[0], 0);
  EXPECT_FALSE(std::signbit(x[0]));
  EXPECT_EQ(x[1], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(x[2], std::numeric_limits<double>::infinity());
  EXPECT_EQ(x[3], std::log(smallest));
  EXPECT_LE(StepsApart(x[4], std::log(100.0)), 1);
}

// Sizes that end within and between the groups of windows that are summed side by side.
TEST(Windows, SumFromTheOldestToTheNewestValueInEveryPlace) {
  for (const size_t size : {20u, 35u, 36u, 37u, 51u, 52u, 100u}) {
    const std::vector<double> x = Values(size);
    for (const size_t n : {1u, 3u, 14u, 20u}) {
      const SeriesView view{std::span<const double>(x)};
      const Series sum = WindowSum(view, n), mean = WindowMean(view, n),
                   deviation = WindowDeviation(view, mean, n),
                   absolute = WindowMeanAbsoluteDeviation(view, mean, n),
                   slope = WindowSlopeNumerator(view, n);
      for (size_t k = n - 1; k < size; ++k) {
        double total = 0, squares = 0, distances = 0, numerator = 0;
        for (size_t j = 0; j < n; ++j) total += x[k + 1 - n + j];
        const double average = total / static_cast<double>(n);
        for (size_t j = 0; j < n; ++j) {
          const double difference = x[k + 1 - n + j] - average;
          squares += difference * difference;
          distances += std::abs(difference);
          numerator += (static_cast<double>(j) - static_cast<double>(n - 1) / 2) *
                       (x[k + 1 - n + j] - x[k + 1 - n]);
        }
        ASSERT_EQ(sum[k], total);
        ASSERT_EQ(mean[k], average);
        ASSERT_EQ(deviation[k], std::sqrt(squares / static_cast<double>(n)));
        ASSERT_EQ(absolute[k], distances / static_cast<double>(n));
        ASSERT_EQ(slope[k], numerator);
      }
    }
  }
}

TEST(Windows, ExtremesOfEveryWidthAreThoseOfTheWindow) {
  const std::vector<double> x = Values(300);
  for (size_t n = 1; n <= 61; ++n) {
    const SeriesView view(2, std::span<const double>(x));
    const Series highest = WindowMax(view, n), lowest = WindowMin(view, n),
                 since_high = BarsSinceMax(view, n), since_low = BarsSinceMin(view, n);
    ASSERT_EQ(highest.from(), n + 1);
    ASSERT_TRUE(std::isnan(highest[n]));
    for (size_t k = n + 1; k < x.size(); ++k) {
      size_t high = k, low = k;
      for (size_t j = 1; j < n; ++j) {
        if (x[k - j] > x[high]) high = k - j;
        if (x[k - j] < x[low]) low = k - j;
      }
      ASSERT_EQ(highest[k], x[high]);
      ASSERT_EQ(lowest[k], x[low]);
      ASSERT_EQ(since_high[k], static_cast<double>(k - high));
      ASSERT_EQ(since_low[k], static_cast<double>(k - low));
    }
  }
}

// Averages that begin at different places give the same values side by side as alone.
TEST(Recursions, AdvanceSideBySideAsAlone) {
  const std::vector<double> x = Values(200);
  const SeriesView view{std::span<const double>(x)};
  Carry together, alone;
  const auto four =
      Emas<4>({Average(view, 12), Average(view, 26), {view, 25, 12}, Average(view, 15)}, together);
  const Recursion each[] = {
      Average(view, 12), Average(view, 26), {view, 25, 12}, Average(view, 15)};
  for (size_t i = 0; i < 4; ++i) {
    const Series one = std::move(Emas<1>({each[i]}, alone)[0]);
    ASSERT_EQ(one.from(), four[i].from());
    for (size_t k = one.from(); k < x.size(); ++k) ASSERT_EQ(one[k], four[i][k]);
  }
}

}  // namespace
}  // namespace vixen::market
