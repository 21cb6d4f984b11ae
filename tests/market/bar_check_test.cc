// SPDX-License-Identifier: Apache-2.0
#include "market/bar_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace vixen::market {
namespace {

TEST(BarCheck, FindsTheFirstFaultOfABar) {
  EXPECT_FALSE(FindBarFault(1, 1, 1, 1, 0).has_value());
  EXPECT_EQ(std::string(FindBarFault(1, NAN, 1, 1, 0)->field), "high");
  EXPECT_EQ(FindBarFault(1, INFINITY, 1, 1, 0)->rule, "is not finite");
  EXPECT_EQ(FindBarFault(1, 2, 1.5, 1.7, 0)->rule, "lies outside low 1.5 to high 2");
  EXPECT_EQ(std::string(FindBarFault(1, 2, 1, 2.5, 0)->field), "close");
  EXPECT_EQ(std::string(FindBarFault(1, 2, 1, 2, -1)->field), "volume");
  EXPECT_EQ(std::string(FindBarFault(1, 2, 1, 2, NAN)->field), "volume");
}

}  // namespace
}  // namespace vixen::market
