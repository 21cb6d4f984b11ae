// SPDX-License-Identifier: Apache-2.0
#include "kernels/env/diversity.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/small_market.h"

namespace vixen::kernels {
namespace {

double Entropy(const uint32_t count[kCategories]) {
  double bits = 0;
  for (int c = 0; c < kCategories; ++c) {
    const double p = count[c] / 100.0;
    if (p > 0) bits -= p * std::log2(p);
  }
  return bits;
}

TEST(Diversity, HalfAndHalfIsExactlyOneBit) {
  const Rules rules = MakeRules(EnvSettings(), 1);
  const uint32_t counts[][kCategories] = {{50, 50, 0}, {50, 0, 50}, {0, 50, 50}};
  for (const auto& count : counts) EXPECT_EQ(EntropyOf(rules, count), 1.0f);
}

TEST(Diversity, JudgesEveryWindowAsDoublePrecisionDoes) {
  const Rules rules = MakeRules(EnvSettings(), 1);
  for (uint32_t a = 0; a <= 100; ++a) {
    for (uint32_t b = 0; a + b <= 100; ++b) {
      const uint32_t count[kCategories] = {a, b, 100 - a - b};
      const double exact = Entropy(count);
      ASSERT_NEAR(EntropyOf(rules, count), exact, 3e-7);
      ASSERT_EQ(EntropyOf(rules, count) < 1.0f, exact < 1.0) << a << " " << b;
    }
  }
}

TEST(Diversity, ChargesOnceTheWindowIsFull) {
  Walk walk(std::vector<float>(220, 100.0f));
  for (int t = 0; t < 99; ++t) ASSERT_EQ(walk.Step(kFlat).diversity, 0.0f) << "t = " << t;
  EXPECT_FLOAT_EQ(walk.Step(kFlat).diversity, -0.1f);
  EXPECT_FLOAT_EQ(walk.Step(kFlat).diversity, -0.1f);
}

TEST(Diversity, ForgetsWhatIsOlderThanTheWindow) {
  Walk walk(std::vector<float>(320, 100.0f));
  for (int t = 0; t < 100; ++t) walk.Step(kFlat);
  for (int t = 0; t < 49; ++t) ASSERT_FLOAT_EQ(walk.Step(kHalfLong).diversity, -0.1f);
  EXPECT_EQ(walk.Step(kHalfLong).diversity, 0.0f) << "50 flat, 50 long: one bit";
  EXPECT_EQ(walk.slot().category_count[1], 50u);
  EXPECT_EQ(walk.slot().category_count[2], 50u);
}

TEST(Diversity, MapsExposureClassesToCategories) {
  EXPECT_EQ(CategoryOf(0), 0);
  EXPECT_EQ(CategoryOf(17), 0);
  EXPECT_EQ(CategoryOf(18), 1);
  EXPECT_EQ(CategoryOf(26), 1);
  EXPECT_EQ(CategoryOf(27), 2);
  EXPECT_EQ(CategoryOf(44), 2);
}

}  // namespace
}  // namespace vixen::kernels
