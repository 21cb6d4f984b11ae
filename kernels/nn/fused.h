// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace vixen::kernels {

// std::fma by float64 alone. The product is exact there; the sum and what its rounding left off are
// those of Knuth's TwoSum. Rounded to odd instead of to the nearest (where something was left off,
// the last bit is set), it can be rounded to float32 without being rounded twice (Boldo and
// Melquiond, 2008).
inline float FusedInDoubles(float a, float b, float c) {
  const double product = double{a} * double{b}, addend = c;
  const double sum = product + addend;
  const double added = sum - product;
  const double rest = (product - (sum - added)) + (addend - added);
  const uint64_t bits = std::bit_cast<uint64_t>(sum);
  const bool inexact = rest < 0 || rest > 0;  // NaN is neither
  const bool outwards = (rest > 0) == (sum > 0);
  const uint64_t odd = (bits & 1) != 0 ? bits : outwards ? bits + 1 : bits - 1;
  return static_cast<float>(std::bit_cast<double>(inexact ? odd : bits));
}

// a·b + c rounded once. Where the processor need not have the instruction, std::fma would be a
// hundred times slower.
inline float Fused(float a, float b, float c) {
#if defined(__FP_FAST_FMAF)
  return std::fma(a, b, c);
#else
  return FusedInDoubles(a, b, c);
#endif
}

}  // namespace vixen::kernels
