// SPDX-License-Identifier: Apache-2.0
#include "market/quality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/market/example_bars.h"

namespace vixen::market {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// Bars at the given minutes, closes that swing between 100 and 101.
Bars At(const std::vector<int>& minutes) {
  Bars bars;
  for (size_t i = 0; i < minutes.size(); ++i) {
    const double close = i % 2 == 0 ? 100 : 101;
    AppendBar(bars, minutes[i] * kMinute, close, close + 1, close - 1, close, 10,
              i + 1 == minutes.size());
  }
  return bars;
}

TEST(Quality, TheIntervalIsTheMostFrequentStepAndLongerOnesAreGaps) {
  const QualityReport report = QualityOf(At({0, 1, 2, 5, 6, 7, 17, 18}));
  EXPECT_EQ(report.interval_ns, kMinute);
  EXPECT_EQ(report.gaps, 2u);
  EXPECT_EQ(report.missing_bars, 11u);
  EXPECT_THAT(report.longest_gaps,
              ElementsAre(Pair(7 * kMinute, 10 * kMinute), Pair(2 * kMinute, 3 * kMinute)));
}

TEST(Quality, StepsBetweenSegmentsAreNoGaps) {
  Bars bars = At({0, 1, 2, 50, 51});
  bars.last[2] = 1;
  EXPECT_EQ(QualityOf(bars).gaps, 0u);
}

TEST(Quality, AnUnadjustedSplitIsAnOutlier) {
  std::vector<int> minutes(100);
  for (int i = 0; i < 100; ++i) minutes[static_cast<size_t>(i)] = i;
  Bars bars = At(minutes);
  EXPECT_EQ(QualityOf(bars).outliers, 0u);
  for (size_t i = 60; i < 100; ++i) {
    for (auto* column : {&bars.open, &bars.high, &bars.low, &bars.close}) (*column)[i] /= 2;
  }
  const QualityReport report = QualityOf(bars);
  EXPECT_EQ(report.outliers, 1u);
  EXPECT_NEAR(report.outlier_bound, 20 * 1.4826 * std::log(1.01), 1e-4);
  ASSERT_EQ(report.largest_outliers.size(), 1u);
  EXPECT_EQ(report.largest_outliers[0].first, 60 * kMinute);
  EXPECT_NEAR(report.largest_outliers[0].second, std::log(50.0 / 101), 1e-12);
}

TEST(Quality, OnlyFiveExamplesAreKeptLargestFirst) {
  std::vector<int> minutes;
  int at = 0;
  for (int i = 0; i < 40; ++i) minutes.push_back(at += i % 4 == 0 ? 2 + i : 1);
  const QualityReport report = QualityOf(At(minutes));
  EXPECT_EQ(report.gaps, 9u);
  ASSERT_EQ(report.longest_gaps.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(report.longest_gaps[i].second, (38 - 4 * static_cast<int64_t>(i)) * kMinute);
  }
}

TEST(Quality, StillnessIsCounted) {
  Bars bars = At({0, 1, 2, 3, 4, 5});
  for (size_t i = 2; i < 5; ++i) bars.open[i] = bars.high[i] = bars.low[i] = bars.close[i] = 100;
  const QualityReport report = QualityOf(bars);
  EXPECT_EQ(report.motionless, 3u);
  EXPECT_EQ(report.longest_still, 3u);
  EXPECT_EQ(report.longest_still_time, 2 * kMinute);
}

TEST(Quality, OneBarHasNoInterval) {
  const QualityReport report = QualityOf(At({0}));
  EXPECT_EQ(report.interval_ns, 0);
  EXPECT_EQ(report.longest_still, 1u);
}

}  // namespace
}  // namespace vixen::market
