// SPDX-License-Identifier: Apache-2.0
#include "kernels/env/barriers.h"

#include <gtest/gtest.h>

#include "tests/kernels/small_market.h"

namespace vixen::kernels {
namespace {

// The result of holding `action` over one bar.
BarrierResult ResultOf(float price, float high, float low, int action) {
  SmallMarket market({price, price, price});
  market.SetNextRange(0, high, low);
  Walk walk(market, RelabelSettings());
  return BarrierOf(walk.Step(action).flags);
}

TEST(Barriers, TheStopWinsInsideOneBarAndTheReturnIsMarkedAtTheClose) {
  SmallMarket market({100, 100.55f, 100.55f});
  market.SetNextRange(0, 100.6f, 99.7f);
  Walk walk(market, RelabelSettings());
  const StepRecord record = walk.Step(kFullLong);
  EXPECT_EQ(BarrierOf(record.flags), BarrierResult::kStop);
  EXPECT_NEAR(record.pnl, 0.004725, 1e-7);
}

TEST(Barriers, LinesLieByTheSideOfThePosition) {
  const Rules rules = MakeRules(RelabelSettings(), 1);
  SlotState slot;
  slot.position = 900;
  ArmBarrier(rules, 100, slot);
  EXPECT_FLOAT_EQ(slot.barrier_upper, 100.5f);
  EXPECT_FLOAT_EQ(slot.barrier_lower, 99.75f);
  slot.position = -900;
  ArmBarrier(rules, 100, slot);
  EXPECT_FLOAT_EQ(slot.barrier_upper, 100.25f);
  EXPECT_FLOAT_EQ(slot.barrier_lower, 99.5f);
}

TEST(Barriers, AFlatPriceTimesOutAtStep59WithLabelZero) {
  Walk walk(std::vector<float>(70, 100.0f));
  for (int t = 0; t < 59; ++t) {
    ASSERT_EQ(BarrierOf(walk.Step(kFullLong).flags), BarrierResult::kNone) << "t = " << t;
  }
  const StepRecord record = walk.Step(kFullLong);
  EXPECT_EQ(BarrierOf(record.flags), BarrierResult::kTime);
  EXPECT_EQ(record.barrier, 0.0f);
  EXPECT_EQ(record.flags & kFlagTerminated, 0);
}

TEST(Barriers, ExactTiesHit) {
  EXPECT_EQ(ResultOf(100, 100.25f, 100, kFullShort), BarrierResult::kStop);
  EXPECT_EQ(ResultOf(12, 12.03f, 12, kFullShort), BarrierResult::kStop);
  EXPECT_EQ(ResultOf(4, 4, 3.99f, kFullLong), BarrierResult::kStop);
  EXPECT_EQ(ResultOf(100, 100.5f, 100, kFullLong), BarrierResult::kProfit);
  EXPECT_EQ(ResultOf(100, 100, 99.5f, kFullShort), BarrierResult::kProfit);
}

TEST(Barriers, OneStepShortOfTheLineDoesNotHit) {
  EXPECT_EQ(ResultOf(100, 100.24f, 100, kFullShort), BarrierResult::kNone);
  EXPECT_EQ(ResultOf(100, 100, 99.76f, kFullLong), BarrierResult::kNone);
  EXPECT_EQ(ResultOf(100, 100.49f, 100, kFullLong), BarrierResult::kNone);
}

TEST(Barriers, NearlyAllTiesOnACentGridHit) {
  int missed = 0;
  int ties = 0;
  for (int dollars = 4; dollars <= 4000; dollars += 4) {
    const auto price = static_cast<float>(dollars);
    const float high = static_cast<float>((dollars * 100 + dollars / 4) / 100.0);
    const float low = static_cast<float>((dollars * 100 - dollars / 4) / 100.0);
    missed += ResultOf(price, high, price, kFullShort) != BarrierResult::kStop;
    missed += ResultOf(price, price, low, kFullLong) != BarrierResult::kStop;
    ties += 2;
  }
  EXPECT_LE(missed, ties / 50);
}

TEST(Barriers, RelabelArmsAgainAtTheNextStepsPrice) {
  SmallMarket market({100, 101, 101, 101});
  Walk walk(market, RelabelSettings());
  EXPECT_EQ(BarrierOf(walk.Step(kFullLong).flags), BarrierResult::kProfit);
  EXPECT_EQ(walk.slot().barrier_armed, 0);
  EXPECT_EQ(BarrierOf(walk.Step(kFullLong).flags), BarrierResult::kNone);
  EXPECT_EQ(walk.slot().barrier_armed, 1);
  EXPECT_FLOAT_EQ(walk.slot().barrier_entry, 101.0f);
}

TEST(Barriers, TerminateEndsTheEpisodeAtAnyResult) {
  EnvSettings settings;
  settings.recycle = false;
  Walk walk({100, 101, 101}, settings);
  const StepRecord record = walk.Step(kFullLong);
  EXPECT_EQ(record.flags & (kFlagTerminated | kFlagTruncated), kFlagTerminated);
  EXPECT_EQ(walk.slot().active, 0);
}

TEST(Barriers, ShapingMultipliesOrAlignsWithTheReturn) {
  EnvSettings settings = RelabelSettings();
  const float loss = -0.004f;
  EXPECT_FLOAT_EQ(BarrierTerm(settings, BarrierResult::kStop, loss), 0.002f)
      << "the published product halves a stopped loss";
  settings.barrier_shaping = BarrierShaping::kAligned;
  EXPECT_FLOAT_EQ(BarrierTerm(settings, BarrierResult::kStop, loss), -0.002f);
  EXPECT_FLOAT_EQ(BarrierTerm(settings, BarrierResult::kProfit, loss), 0.002f);
  EXPECT_EQ(BarrierTerm(settings, BarrierResult::kTime, loss), 0.0f);
}

}  // namespace
}  // namespace vixen::kernels
