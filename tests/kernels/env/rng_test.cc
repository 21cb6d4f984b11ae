// SPDX-License-Identifier: Apache-2.0
#include "kernels/env/rng.h"

#include <gtest/gtest.h>

#include "kernels/env/rules.h"
#include "tests/kernels/small_market.h"

namespace vixen::kernels {
namespace {

TEST(Lcg, GivesTheKnownSequence) {
  uint32_t x = 12345;
  EXPECT_FLOAT_EQ(DrawUniform(x), 0.4461751516f);
  EXPECT_EQ(x, 87628868u);
  EXPECT_FLOAT_EQ(DrawUniform(x), 0.4724983540f);
  EXPECT_EQ(x, 71072467u);
  EXPECT_FLOAT_EQ(DrawUniform(x), 0.0957667942f);
  EXPECT_EQ(x, 2332836374u);
}

TEST(Lcg, UniformReachesBothEnds) {
  EXPECT_EQ(UniformOf(0xFF800000u), 0.0f);
  EXPECT_EQ(UniformOf(0x007FFFFFu), 1.0f);
}

TEST(SlotSeeds, AreTheSpecificationsCheckNumbers) {
  const struct {
    uint64_t launch;
    uint32_t slot, rng, start_draw;
  } checks[] = {
      {0, 0, 1496452567, 72105175},   {0, 1, 3132172802, 2503666544},
      {0, 2, 1780359642, 1071300230}, {1, 0, 2327277580, 1172135926},
      {1, 1, 1269591991, 1716333125}, {1, 2, 1499360804, 1114421561},
  };
  for (const auto& check : checks) {
    const SlotSeed seed = SeedOfSlot(7, check.launch, check.slot);
    EXPECT_EQ(seed.rng, check.rng);
    EXPECT_EQ(seed.start_draw, check.start_draw);
  }
}

TEST(StartBar, CoversTheRangeAndStepsBackFromLastBars) {
  SmallMarket market({100, 101, 102, 103, 104, 105});
  market.last = {0, 1, 0, 0, 0, 1};
  MarketView view = market.view();
  EXPECT_EQ(StartBar(view, 0), 0u);
  EXPECT_EQ(StartBar(view, 0x2FFFFFFFu), 0u) << "bar 1 is a last bar";
  EXPECT_EQ(StartBar(view, 0xFFFFFFFFu), 4u) << "bar 5 is the last one";
  view.begin = 2;
  view.end = 4;
  EXPECT_EQ(StartBar(view, 0), 2u);
  EXPECT_EQ(StartBar(view, 0xFFFFFFFFu), 2u) << "bar 3 ends the range";
}

}  // namespace
}  // namespace vixen::kernels
