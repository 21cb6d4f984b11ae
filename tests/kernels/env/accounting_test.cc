// SPDX-License-Identifier: Apache-2.0
// The published accounting faults with their exact numbers (docs/environment.md, rule 6 and 9).
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/kernels/small_market.h"

namespace vixen::kernels {
namespace {

constexpr double kMoney = 0.02;  // float32 cash of 100,000 has steps of 0.008
constexpr double kUnits = 1e-3;
constexpr double kReturn = 2e-8;

TEST(Accounting, AFlipClosesFirstAndSizesFromWhatIsLeft) {
  Walk walk({100, 102, 102});
  walk.Step(kFullLong);
  EXPECT_FLOAT_EQ(walk.slot().position, 900.0f);
  const StepRecord record = walk.Step(kFullShort);
  EXPECT_NEAR(walk.slot().position, -897.834264705882, kUnits);
  EXPECT_NEAR(walk.slot().cash, 193310.75022625, kMoney);
  EXPECT_FLOAT_EQ(walk.slot().entry, 102.0f);
  EXPECT_NEAR(record.costs.paid, 45.84477375, 1e-4);
  EXPECT_NEAR(record.pnl, -0.000450441146, kReturn);
  EXPECT_EQ(record.costs.fills, 2u);
}

TEST(Accounting, AResizeIsOneTradeAndAveragesTheEntry) {
  Walk walk({100, 101, 101});
  walk.Step(kHalfLong);
  EXPECT_FLOAT_EQ(walk.slot().position, 450.0f);
  const StepRecord record = walk.Step(kFullLong);
  EXPECT_NEAR(walk.slot().position, 450.0 + 444.998762, kUnits);
  EXPECT_NEAR(record.costs.paid, 11.23621875, 1e-4);
  EXPECT_EQ(record.costs.fills, 1u);
  EXPECT_NEAR(walk.slot().entry, 100.497206, 1e-4);
}

TEST(Accounting, AShrinkingPositionKeepsItsEntry) {
  Walk walk({100, 101, 101});
  walk.Step(kFullLong);
  const StepRecord record = walk.Step(kHalfLong);
  EXPECT_NEAR(walk.slot().position, 900.0 - 450.545792, kUnits);
  EXPECT_EQ(record.costs.fills, 1u);
  EXPECT_FLOAT_EQ(walk.slot().entry, 100.0f);
}

TEST(Accounting, RepeatingAnActionInsideTheBandDoesNotTrade) {
  Walk walk({100, 110, 110});
  walk.Step(kFullLong);
  const StepRecord record = walk.Step(kFullLong);
  EXPECT_EQ(record.costs.fills, 0u);
  EXPECT_EQ(record.costs.paid, 0.0f);
  EXPECT_FLOAT_EQ(walk.slot().position, 900.0f);
}

TEST(Accounting, RepeatingAnActionOutsideTheBandRebalances) {
  Walk walk({100, 110, 110});
  walk.Step(kFullShort);
  EXPECT_FLOAT_EQ(walk.slot().position, -900.0f);
  const StepRecord record = walk.Step(kFullShort);
  EXPECT_NEAR(walk.slot().position, -900.0 + 155.638636, kUnits);
  EXPECT_NEAR(record.costs.paid, 4.2800625, 1e-4);
}

TEST(Accounting, ANegativeFeeIsARebate) {
  EnvSettings settings = RelabelSettings();
  for (float& bps : settings.cost_bps) bps = -0.5f;
  settings.spread = 0.0f;
  Walk walk({100, 100}, settings);
  const StepRecord record = walk.Step(kFullLong);
  EXPECT_NEAR(record.costs.paid, -4.5, 1e-5);
  EXPECT_NEAR(walk.slot().cash, 10004.5, 1e-2);
  EXPECT_NEAR(walk.equity(100), 100004.5, kMoney);
}

TEST(Accounting, ARoundTripCostsBothSides) {
  Walk walk({100, 100, 100});
  const StepRecord open = walk.Step(kFullLong);
  const StepRecord close = walk.Step(kFlat);
  EXPECT_NEAR(open.costs.paid, 22.5, 1e-5);
  EXPECT_NEAR(close.costs.paid, 22.5, 1e-5);
  EXPECT_EQ(walk.slot().position, 0.0f);
  EXPECT_EQ(walk.slot().entry, 0.0f);
  EXPECT_NEAR(walk.slot().cash, 99955.0, kMoney);
  EXPECT_NEAR(walk.slot().cumulative_costs, 45.0, 1e-4);
  EXPECT_NEAR(open.pnl + close.pnl, -45.0 / 100000.0, 1e-7);
}

TEST(Accounting, BorrowingIsChargedEveryBarThatAShortStands) {
  EnvSettings settings = RelabelSettings();
  settings.borrow_bps = 1.0f;
  Walk walk({100, 101, 100, 99}, settings);
  const StepRecord first = walk.Step(kFullShort);
  EXPECT_NEAR(first.costs.paid, 22.5 + 9.0, 1e-4);
  EXPECT_NEAR(walk.equity(101), 99068.5, kMoney);
  const StepRecord second = walk.Step(kFullShort);
  EXPECT_EQ(second.costs.fills, 0u);
  EXPECT_NEAR(second.costs.paid, 9.09, 1e-4);
  EXPECT_NEAR(walk.slot().cash, 189959.41, 2 * kMoney);
  const StepRecord third = walk.Step(kHalfLong);
  EXPECT_NEAR(third.costs.paid, 22.5 + 11.242902375, 1e-3);
  EXPECT_NEAR(third.next_portfolio[0], 0.99475951002625, 1e-6);
}

TEST(Accounting, EquityLooksAtTheCloseOnly) {
  SmallMarket market({100, 101, 101});
  market.SetNextRange(0, 101, 50);
  Walk walk(market, RelabelSettings());
  const StepRecord record = walk.Step(kFullLong);
  EXPECT_EQ(record.flags & kFlagTerminated, 0);
  EXPECT_EQ(BarrierOf(record.flags), BarrierResult::kStop) << "the barriers do look inside the bar";
}

TEST(Accounting, LargePricesPayFiveBasisPointsASide) {
  SlotState slot;
  StepCosts costs;
  Fill(slot, 5.0f, 100'000.0f, 5e-4f, costs);
  EXPECT_NEAR(costs.paid, 250.0, 1e-3);
  Close(slot, 100'000.0f, 5e-4f, costs);
  EXPECT_NEAR(costs.paid, 500.0, 1e-3);
  EXPECT_EQ(slot.position, 0.0f);
}

TEST(Accounting, TheEndOfTheDataTruncates) {
  Walk walk({100, 101, 99});
  const StepRecord first = walk.Step(kFullLong);
  EXPECT_NEAR(first.pnl, 0.008775, kReturn);
  EXPECT_EQ(first.flags & (kFlagTerminated | kFlagTruncated), 0);
  const StepRecord second = walk.Step(kFullLong);
  EXPECT_NEAR(second.pnl, -0.017843423955, kReturn);
  EXPECT_EQ(second.flags & (kFlagTerminated | kFlagTruncated), kFlagTruncated);
}

TEST(Accounting, RuinTerminates) {
  EnvSettings settings = RelabelSettings();
  settings.min_equity = 0.9997f;
  Walk walk({100, 100, 100}, settings);
  EXPECT_EQ(walk.Step(kFullLong).flags & kFlagTerminated, 0) << "22.5 of 100,000 lost";
  EXPECT_EQ(walk.Step(kFlat).flags & (kFlagTerminated | kFlagTruncated), kFlagTerminated);
}

TEST(Accounting, EquityChangesByTheMoveOfThePositionLessTheCosts) {
  std::mt19937 generator(3);
  std::vector<float> close(2000);
  float price = 100.0f;
  for (float& p : close) {
    p = price;
    price *= 1.0f + 0.01f * (static_cast<float>(generator() % 2001) / 1000.0f - 1.0f);
  }
  EnvSettings settings = RelabelSettings();
  settings.min_equity = 0.01f;
  settings.borrow_bps = 0.3f;
  Walk walk(close, settings);
  for (size_t b = 0; b + 1 < close.size(); ++b) {
    const double before = double{walk.slot().cash} + double{walk.slot().position} * close[b];
    const StepRecord record = walk.Step(static_cast<int>(generator() % kActions));
    if ((record.flags & (kFlagTerminated | kFlagTruncated)) != 0) break;
    const double position = walk.slot().position;
    const double after = double{walk.slot().cash} + position * close[b + 1];
    const double expected = position * (double{close[b + 1]} - close[b]) - record.costs.paid;
    ASSERT_NEAR(after - before, expected, 0.05) << "bar " << b;
    ASSERT_NEAR(record.pnl, expected / before, 1e-6);
    ASSERT_GT(walk.slot().cash + std::fabs(position) * close[b + 1], 0);
    ASSERT_EQ(walk.slot().entry == 0.0f, walk.slot().position == 0.0f);
  }
}

}  // namespace
}  // namespace vixen::kernels
