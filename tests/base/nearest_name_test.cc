// SPDX-License-Identifier: Apache-2.0
#include "base/nearest_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/version.h"

namespace vixen::base {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

TEST(NearestNames, FindsOneTypingError) {
  EXPECT_THAT(NearestNames("stepz", {"steps", "episodes", "begin"}), ElementsAre("steps"));
  EXPECT_THAT(NearestNames("setps", {"steps", "episodes"}), ElementsAre("steps"));
  EXPECT_THAT(NearestNames("carryover", {"carry_over", "recycle"}), ElementsAre("carry_over"));
}

TEST(NearestNames, PutsTheNearestFirstAndAtMostThree) {
  EXPECT_THAT(NearestNames("abcdef", {"abcdxy", "abcdez", "abcdef", "abcdea", "zzzzzz"}),
              ElementsAre("abcdef", "abcdea", "abcdez"));
}

TEST(NearestNames, FindsAThirdOfTheLettersWrongAndNoMore) {
  EXPECT_THAT(NearestNames("abcdefghi", {"xyzdefghi"}), ElementsAre("xyzdefghi"));
  EXPECT_THAT(NearestNames("abcdefghi", {"wxyzefghi"}), IsEmpty());
  EXPECT_THAT(NearestNames("abcdefghi", {"abcdefghijkl"}), ElementsAre("abcdefghijkl"));
  EXPECT_THAT(NearestNames("abcdefghi", {"abcdefghijklm"}), IsEmpty());
  EXPECT_THAT(NearestNames("badcfehgi", {"abcdefghi"}), IsEmpty()) << "four swaps";
  EXPECT_THAT(NearestNames("badcfeghi", {"abcdefghi"}), ElementsAre("abcdefghi"));
}

TEST(NearestNames, GivesNothingForWhatIsNothingLikeIt) {
  EXPECT_THAT(NearestNames("volatility", {"steps", "begin"}), IsEmpty());
  EXPECT_THAT(NearestNames("", {"a"}), IsEmpty());
  EXPECT_THAT(NearestNames(std::string(100'000, 'x'), {std::string(100'000, 'y')}), IsEmpty());
}

TEST(DidYouMean, MakesAQuestion) {
  EXPECT_EQ(DidYouMean("step", {"steps", "stop"}, "--"), "; did you mean --steps or --stop?");
  EXPECT_EQ(DidYouMean("x", {"steps"}), "");
}

TEST(Version, IsThreeNumbers) {
  EXPECT_THAT(std::string(Version()), MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace vixen::base
