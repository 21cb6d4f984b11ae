// SPDX-License-Identifier: Apache-2.0
#include "learner/replay/power.h"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace vixen::learner {
namespace {

constexpr uint64_t kFraction = (uint64_t{1} << 52) - 1;
constexpr uint64_t kOne = std::bit_cast<uint64_t>(1.0);
// What is added to x's bits so that the exponent field counts from √½ instead of 1.
constexpr uint64_t kHalfRoot = std::bit_cast<uint64_t>(0.70710678118654746);
// 2⁵² + e has e in its lowest bits: from integer to float and back without a conversion.
constexpr double kTwo52 = 0x1p52;
constexpr double kRound = 0x1.8p52;  // x + this − this: the nearest integer
// The range of exponents beyond which a float is 0 or infinite.
constexpr double kLeast = -200, kMost = 200;

// x = 2^e·(1 + f), √½ ≤ 1 + f < √2; with s = f/(2 + f), log2(1 + f) = 2/ln 2·(s + s³/3 + s⁵/5 + …).
// A float that is no normal one is a normal double.
inline double LogBase2(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x) - kHalfRoot + kOne;
  const double e =
      std::bit_cast<double>((bits >> 52) | std::bit_cast<uint64_t>(kTwo52)) - (kTwo52 + 1023);
  const double f = std::bit_cast<double>((bits & kFraction) + kHalfRoot) - 1;
  const double s = f / (2 + f), z = s * s;
  constexpr double c = 2.8853900817779268;  // 2/ln 2
  const double series =
      c +
      z * (c / 3 +
           z * (c / 5 + z * (c / 7 + z * (c / 9 + z * (c / 11 + z * (c / 13 + z * (c / 15)))))));
  return e + s * series;
}

// 2^t = 2^n·e^g, |g| ≤ ½·ln 2, by Taylor.
inline double PowerOf2(double t) {
  const double clamped = t < kLeast ? kLeast : t > kMost ? kMost : t;
  const double shifted = clamped + kRound;
  const uint64_t n = std::bit_cast<uint64_t>(shifted) << 52;
  const double g = (clamped - (shifted - kRound)) * 0.69314718055994531;
  const double series =
      1 +
      g * (1 +
           g * (1.0 / 2 +
                g * (1.0 / 6 +
                     g * (1.0 / 24 +
                          g * (1.0 / 120 +
                               g * (1.0 / 720 +
                                    g * (1.0 / 5040 + g * (1.0 / 40320 + g * (1.0 / 362880)))))))));
  return std::bit_cast<double>(std::bit_cast<uint64_t>(series) + n);
}

}  // namespace

void PowerInPlace(std::span<float> values, float exponent) {
  float* const at = values.data();
  const size_t count = values.size();
  const double by = exponent;
  for (size_t i = 0; i < count; ++i) {
    const double x = at[i];
    const double power = PowerOf2(by * LogBase2(x));
    at[i] = static_cast<float>(x > 0 ? power : 0.0);
  }
}

}  // namespace vixen::learner
