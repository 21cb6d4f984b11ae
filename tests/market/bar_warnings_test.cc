// SPDX-License-Identifier: Apache-2.0
#include "market/bar_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "market/format.h"
#include "tests/market/example_bars.h"

namespace vixen::market {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(BarWarnings, AreSilentAboutAnOrdinaryMarket) {
  EXPECT_THAT(WarningsAbout(Walk(400)), IsEmpty());
}

TEST(BarWarnings, NameAPriceThatNeverMoves) {
  Bars bars = Walk(30);
  for (auto* column : {&bars.open, &bars.high, &bars.low, &bars.close}) column->assign(30, 5.0);
  EXPECT_THAT(WarningsAbout(bars), ElementsAre(HasSubstr("the price is 5 in every bar")));
}

TEST(BarWarnings, NameAVolumeOfZeros) {
  Bars bars = Walk(30);
  bars.volume.assign(30, 0.0);
  EXPECT_THAT(WarningsAbout(bars), ElementsAre(HasSubstr("--volume none")));
  bars.has_volume = false;
  EXPECT_THAT(WarningsAbout(bars), IsEmpty());
}

TEST(BarWarnings, NameAThousandfoldJumpOfTheVolumeByItsTime) {
  for (const double factor : {1000.0, 0.001}) {
    Bars bars = Walk(400);
    for (size_t i = 200; i < 400; ++i) bars.volume[i] *= factor;
    const std::vector<std::string> warnings = WarningsAbout(bars);
    ASSERT_EQ(warnings.size(), 1u) << factor;
    EXPECT_THAT(warnings[0], HasSubstr(factor > 1 ? "(up)" : "(down)"));
    EXPECT_THAT(warnings[0], HasSubstr(FormatUtc(bars.timestamp[200])));
  }
}

}  // namespace
}  // namespace vixen::market
