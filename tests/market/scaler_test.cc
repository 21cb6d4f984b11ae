// SPDX-License-Identifier: Apache-2.0
#include "market/scaler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace vixen::market {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(Scaler, LaterRowsNeverMoveTheNumbers) {
  std::vector<float> column;
  for (int i = 1; i <= 100; ++i) column.push_back(static_cast<float>(i));
  column.insert(column.end(), 50, 1e6f);
  const FittedScaler fitted = FitScaler(column, 1, {0, 100});
  EXPECT_EQ(fitted.scaler.mean[0], 50.5);
  EXPECT_NEAR(fitted.scaler.scale[0], 28.86607005, 1e-8);
  const std::vector<uint64_t> clipped = ApplyScaler(fitted, column);
  EXPECT_EQ(column[0], static_cast<float>((1 - 50.5) / std::sqrt(833.25)));
  EXPECT_EQ(column[149], 10.0f);
  EXPECT_EQ(clipped[0], 50u);
}

TEST(Scaler, ColumnsAreIndependentAndTheRangeIsRespected) {
  std::vector<float> rows = {100, 9, 1, 10, 3, 30, 100, 9};
  const FittedScaler fitted = FitScaler(rows, 2, {1, 3});
  EXPECT_THAT(fitted.scaler.mean, ElementsAre(2, 20));
  EXPECT_THAT(fitted.scaler.scale, ElementsAre(1, 10));
  ApplyScaler(fitted, rows);
  EXPECT_THAT(rows, ElementsAre(10, -1.1f, -1, -1, 1, 1, 10, -1.1f));
}

TEST(Scaler, AConstantColumnBecomesZeroWithScaleOne) {
  std::vector<float> column(20, 7.0f);
  const FittedScaler fitted = FitScaler(column, 1, {0, 20});
  EXPECT_EQ(fitted.scaler.mean[0], 7);
  EXPECT_EQ(fitted.scaler.scale[0], 1);
  EXPECT_EQ(fitted.constant[0], 1);
  column.push_back(9.0f);
  EXPECT_THAT(ApplyScaler(fitted, column), ElementsAre(0));
  EXPECT_THAT(column, Each(0.0f));
}

// 0.1f has no exact mean of three, so its deviation is tiny instead of 0.
TEST(Scaler, ADeviationOfRoundingSizeCountsAsConstant) {
  for (const float value : {0.1f, 1e-30f, 1e30f, 0.0f}) {
    std::vector<float> column(3, value);
    const FittedScaler fitted = FitScaler(column, 1, {0, 3});
    EXPECT_EQ(fitted.constant[0], 1) << value;
    EXPECT_EQ(fitted.scaler.scale[0], 1) << value;
  }
  const std::vector<float> varying = {1.0f, std::nextafter(1.0f, 2.0f)};
  EXPECT_EQ(FitScaler(varying, 1, {0, 2}).constant[0], 0);
}

TEST(Scaler, ClippingCountsOnlyWhatLiesBeyondTheBound) {
  FittedScaler fitted{{{0}, {1}}, {0}};
  std::vector<float> column = {10, -10, 10.5f, -11};
  EXPECT_THAT(ApplyScaler(fitted, column), ElementsAre(2u));
  EXPECT_THAT(column, ElementsAre(10, -10, 10, -10));
}

}  // namespace
}  // namespace vixen::market
