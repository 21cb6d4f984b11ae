// SPDX-License-Identifier: Apache-2.0
#include "learner/replay/row_ages.h"

#include <gtest/gtest.h>

namespace vixen::learner {
namespace {

TEST(RowAges, KnowTheOriginOfEachRowThatCameInSince) {
  RowAges ages;
  const RowAges::Clock::time_point start;
  ages.Inserted(10, 5, {.version = 3, .inserted = start});
  ages.Inserted(15, 0, {.version = 8, .inserted = start});
  ages.Inserted(15, 2, {.version = 4, .inserted = start + std::chrono::seconds(1)});
  EXPECT_FALSE(ages.Of(9).has_value());  // from a checkpoint
  EXPECT_EQ(ages.Of(10)->version, 3u);
  EXPECT_EQ(ages.Of(14)->version, 3u);
  EXPECT_EQ(ages.Of(15)->version, 4u);
  EXPECT_EQ(ages.Of(16)->inserted, start + std::chrono::seconds(1));
  EXPECT_FALSE(ages.Of(17).has_value());
}

TEST(RowAges, ForgetBatchesThatAreOverwrittenWhole) {
  RowAges ages;
  ages.Inserted(0, 5, {.version = 1});
  ages.Inserted(5, 5, {.version = 2});
  ages.Forget(4);
  EXPECT_EQ(ages.Of(4)->version, 1u);
  ages.Forget(5);
  EXPECT_FALSE(ages.Of(4).has_value());
  EXPECT_EQ(ages.Of(5)->version, 2u);
}

}  // namespace
}  // namespace vixen::learner
