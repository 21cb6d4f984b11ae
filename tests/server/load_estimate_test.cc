// SPDX-License-Identifier: Apache-2.0
#include "server/metrics/load_estimate.h"

#include <gtest/gtest.h>

namespace vixen::server {
namespace {

TEST(LoadEstimate, AsksForOneLearnerWhereThereIsNone) {
  EXPECT_EQ(LoadEstimate().LearnersNeeded(0, 64), 1);
}

TEST(LoadEstimate, SaysNothingNewBeforeItHasSeenEnough) {
  LoadEstimate load;
  load.Add(0.1, 1);
  EXPECT_EQ(load.LearnersNeeded(3, 64), 3);
}

TEST(LoadEstimate, AsksForAsManyAsWouldKeepTheActorBusy) {
  LoadEstimate load;
  for (int i = 0; i < 200; ++i) load.Add(0.6, 0.4);
  EXPECT_EQ(load.LearnersNeeded(3, 64), 5);  // 3 / 0.6
  EXPECT_EQ(load.LearnersNeeded(12, 64), 20);
  EXPECT_EQ(load.LearnersNeeded(12, 16), 16);
}

TEST(LoadEstimate, GoesUpByNoMoreThanTwiceAtATime) {
  LoadEstimate load;
  for (int i = 0; i < 200; ++i) load.Add(0.01, 0.99);
  EXPECT_EQ(load.LearnersNeeded(2, 64), 4);
  LoadEstimate idle;
  for (int i = 0; i < 20; ++i) idle.Add(0, 1);
  EXPECT_EQ(idle.LearnersNeeded(2, 64), 4);
}

TEST(LoadEstimate, AsksForNoMoreWhenTheActorIsBusy) {
  LoadEstimate load;
  for (int i = 0; i < 200; ++i) load.Add(0.99, 0.01);
  EXPECT_EQ(load.LearnersNeeded(4, 64), 4);
}

TEST(LoadEstimate, ForgetsWhatIsLongPast) {
  LoadEstimate load;
  for (int i = 0; i < 600; ++i) load.Add(0.1, 0.9);
  for (int i = 0; i < 600; ++i) load.Add(1, 0);
  EXPECT_EQ(load.LearnersNeeded(4, 64), 4);
}

}  // namespace
}  // namespace vixen::server
