// SPDX-License-Identifier: Apache-2.0
#include "learner/replay/power.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace vixen::learner {
namespace {

constexpr float kMost = std::numeric_limits<float>::max();
constexpr float kLeast = std::numeric_limits<float>::denorm_min();

// Distance from x^exponent in units of the result's last place.
double ErrorOf(float power, float x, float exponent) {
  const double exact = std::pow(double{x}, double{exponent});
  const float near = static_cast<float>(exact);
  const double unit = double{std::nextafter(near, INFINITY)} - near;
  return std::abs(power - exact) / unit;
}

std::vector<float> PowersOf(std::vector<float> values, float exponent) {
  PowerInPlace(values, exponent);
  return values;
}

TEST(Power, IsRoundedRightOverTheWholeRange) {
  std::mt19937_64 random(1);
  std::vector<float> values = {kLeast, 1e-38f, 1e-6f, 0.5f, 1.0f, 2.0f, 1e30f, kMost};
  while (values.size() < 200'000) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(random() % 0x7f800000u));
    if (x > 0) values.push_back(x);
  }
  for (const float exponent : {1e-3f, 0.25f, 0.4f, 0.6f, 0.73f, 1.0f}) {
    const std::vector<float> powers = PowersOf(values, exponent);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_LT(ErrorOf(powers[i], values[i], exponent), 0.502)
          << values[i] << "^" << exponent << " = " << powers[i];
    }
  }
}

TEST(Power, IsExactWhereItMustBe) {
  const std::vector<float> values = {0.0f, 1.0f, kLeast, 0.25f, 3.0f, kMost};
  EXPECT_EQ(PowersOf(values, 1.0f), values);
  EXPECT_EQ(PowersOf(values, 0.0f), (std::vector<float>{0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(PowersOf({0.0f, 1.0f, 0.25f, 9.0f}, 0.5f), (std::vector<float>{0, 1, 0.5f, 3}));
  EXPECT_EQ(PowersOf({4.0f, 0x1p-80f, 0x1p100f}, 2.0f), (std::vector<float>{16, 0, INFINITY}));
}

TEST(Power, IsTheSameWhereverANumberStands) {
  std::vector<float> values(67);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 0.37f * static_cast<float>(i);
  const std::vector<float> all = PowersOf(values, 0.6f);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(PowersOf({values[i]}, 0.6f)[0], all[i]);
}

}  // namespace
}  // namespace vixen::learner
