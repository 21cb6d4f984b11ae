// SPDX-License-Identifier: Apache-2.0
#include "learner/loop/launch_length.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "learner/metrics/learner_health.h"

namespace vixen::learner {
namespace {

TEST(LaunchLength, BeginsWithOneAndThenTakesWhatFits) {
  LaunchLength length;
  EXPECT_EQ(length.Most(), 1u);
  length.Made(1, 0.5);
  EXPECT_EQ(length.Most(), 4u);
  length.Made(4, 0.8);  // 0.2 s each
  EXPECT_EQ(length.Most(), 10u);
}

TEST(LaunchLength, AnUpdateLongerThanTheLimitIsMadeAlone) {
  LaunchLength length;
  length.Made(1, 45.0);
  EXPECT_EQ(length.Most(), 1u);
}

TEST(LaunchLength, StaysWellBelowTheSilenceThatMeansALoss) {
  LaunchLength length = LaunchLength::WithSilence(1.0);
  length.Made(1, 0.006);
  EXPECT_EQ(length.Most(), 41u);  // 0.246 s
  length = LaunchLength::WithSilence(30.0);
  length.Made(1, 0.006);
  EXPECT_EQ(length.Most(), 333u);
  length.Made(1, 5.0);
  EXPECT_EQ(length.Most(), 1u);
}

TEST(LaunchLength, QuickUpdatesAreNotHeldBack) {
  LaunchLength length;
  length.Made(16, 1e-3);
  EXPECT_GE(length.Most(), 256u);  // the most of updates_a_graph
  length.Made(16, 0.0);            // a clock that did not move
  EXPECT_GE(length.Most(), 256u);
  length.Made(0, 3.0);
  EXPECT_GE(length.Most(), 256u);
}

// By the clock of this test: whatever an update takes, the probe sees a turn in time, with room for
// a card that is suddenly shared.
TEST(LaunchLength, ASlowCardTurnsOftenEnoughForTheProbe) {
  const double turn = std::chrono::duration<double>(LearnerHealth::kLongestTurn).count();
  for (const double update : {0.001, 0.02, 0.15, 0.9, 3.0}) {
    LaunchLength length;
    double now = 0;
    uint64_t made = 0;
    while (made < 1000) {
      const uint64_t most = std::min<uint64_t>(length.Most(), 256);
      const double launch = static_cast<double>(most) * update;
      EXPECT_LE(launch, turn / 10) << update;
      length.Made(most, launch);
      made += most;
      now += launch;
    }
    EXPECT_LT(now, 1300 * update) << update;
  }
}

}  // namespace
}  // namespace vixen::learner
