// SPDX-License-Identifier: Apache-2.0
#include "market/features/logarithm.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace vixen::market {
namespace {

constexpr uint64_t kFraction = (uint64_t{1} << 52) - 1;
// Bits of the largest double below √½: what is added to x's bits so that the exponent field counts
// from √½ instead of 1.
constexpr uint64_t kHalfRoot = std::bit_cast<uint64_t>(0.70710678118654746);
constexpr uint64_t kOne = std::bit_cast<uint64_t>(1.0);
// 2⁵² + e has e in its lowest bits: turns an integer into a float without a conversion.
constexpr double kTwo52 = 4503599627370496.0;
// ln 2 in two parts; the first has 32 bits, so that its product with an exponent is exact.
constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;

// x = 2^e · (1 + f), √½ ≤ 1 + f < √2. With s = f/(2 + f): ln(1 + f) = 2·artanh(s)
// = f − f²/2 + s·(f²/2 + r), r = 2·(s²/3 + s⁴/5 + …), in which only the last product is rounded
// at the size of the result's last place.
double NormalLog(double x) {
  const uint64_t bits = std::bit_cast<uint64_t>(x) - kHalfRoot + kOne;
  const double e =
      std::bit_cast<double>((bits >> 52) | std::bit_cast<uint64_t>(kTwo52)) - (kTwo52 + 1023);
  const double f = std::bit_cast<double>((bits & kFraction) + kHalfRoot) - 1;
  const double s = f / (2 + f), z = s * s, w = z * z;
  const double even =
      w * (2.0 / 5 + w * (2.0 / 9 + w * (2.0 / 13 + w * (2.0 / 17 + w * (2.0 / 21)))));
  const double odd =
      z *
      (2.0 / 3 + w * (2.0 / 7 + w * (2.0 / 11 + w * (2.0 / 15 + w * (2.0 / 19 + w * (2.0 / 23))))));
  const double half = 0.5 * f * f;
  return e * kLn2High - ((half - (s * (half + (even + odd)) + e * kLn2Low)) - f);
}

bool IsNormal(double x) {
  return x >= std::numeric_limits<double>::min() && x <= std::numeric_limits<double>::max();
}

}  // namespace

void LogInPlace(double* values, size_t count) {
  constexpr size_t kPiece = 256;
  double results[kPiece];
  for (size_t begin = 0; begin < count; begin += kPiece) {
    const size_t piece = count - begin < kPiece ? count - begin : kPiece;
    double* at = values + begin;
    uint64_t special = 0;
    for (size_t i = 0; i < piece; ++i) {
      results[i] = NormalLog(at[i]);
      special |= IsNormal(at[i]) ? uint64_t{0} : uint64_t{1};
    }
    for (size_t i = 0; special != 0 && i < piece; ++i) {
      if (!IsNormal(at[i])) results[i] = std::log(at[i]);
    }
    for (size_t i = 0; i < piece; ++i) at[i] = results[i];
  }
}

}  // namespace vixen::market
