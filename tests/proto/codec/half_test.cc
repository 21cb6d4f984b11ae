// SPDX-License-Identifier: Apache-2.0
#include "proto/codec/half.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace vixen::codec {
namespace {

uint16_t Half(float value) {
  uint16_t half;
  FloatsToHalves({&value, 1}, &half);
  return half;
}

float Float(uint16_t half) {
  float value;
  HalvesToFloats(&half, {&value, 1});
  return value;
}

TEST(Half, KnowsTheStandardsValues) {
  EXPECT_EQ(Half(0.0f), 0x0000);
  EXPECT_EQ(Half(-0.0f), 0x8000);
  EXPECT_EQ(Half(1.0f), 0x3C00);
  EXPECT_EQ(Half(-2.0f), 0xC000);
  EXPECT_EQ(Half(65504.0f), 0x7BFF);
  EXPECT_EQ(Half(0x1p-24f), 0x0001);
  EXPECT_EQ(Half(0x1p-14f), 0x0400);
}

TEST(Half, SaturatesInsteadOfBecomingInfinite) {
  EXPECT_EQ(Half(65520.0f), 0x7BFF);
  EXPECT_EQ(Half(1e30f), 0x7BFF);
  EXPECT_EQ(Half(-std::numeric_limits<float>::infinity()), 0xFBFF);
  EXPECT_TRUE(std::isnan(Float(Half(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(Half(1.0f + 0x1p-11f), 0x3C00);
  EXPECT_EQ(Half(1.0f + 3 * 0x1p-11f), 0x3C02);
  EXPECT_EQ(Half(1.5f * 0x1p-24f), 0x0002);
  EXPECT_EQ(Half(0x1p-25f), 0x0000);
}

TEST(Half, ComesBackExactlyForAllFiniteHalves) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if ((half & 0x7C00) == 0x7C00) continue;
    ASSERT_EQ(Half(Float(half)), half);
  }
}

}  // namespace
}  // namespace vixen::codec
