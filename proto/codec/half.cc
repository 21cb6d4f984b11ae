// SPDX-License-Identifier: Apache-2.0
#include "proto/codec/half.h"

#include <algorithm>
#include <bit>
#include <cmath>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace vixen::codec {
namespace {

constexpr float kGreatestHalf = 65504.0f;

float Saturate(float value) {
  return std::isnan(value) ? value : std::clamp(value, -kGreatestHalf, kGreatestHalf);
}

#if defined(__F16C__)
uint16_t ToHalf(float value) {
  const __m128i half = _mm_cvtps_ph(_mm_set_ss(Saturate(value)), _MM_FROUND_TO_NEAREST_INT);
  return static_cast<uint16_t>(_mm_cvtsi128_si32(half));
}
float ToFloat(uint16_t half) { return _cvtsh_ss(half); }
#else
uint16_t ToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(Saturate(value));
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u);
  if (magnitude < 0x38800000u) {
    // Subnormal halves are multiples of 2^-24: adding 0.5 puts that multiple, rounded by the
    // processor to nearest even, into the low bits of the sum.
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3F000000u));
  }
  const uint32_t rounded = magnitude + 0xFFFu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}
float ToFloat(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16;
  const uint32_t exponent = (half >> 10) & 0x1Fu;
  const uint32_t fraction = half & 0x3FFu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | (fraction << 13));
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}
#endif

}  // namespace

void FloatsToHalves(std::span<const float> floats, uint16_t* halves) {
  for (size_t i = 0; i < floats.size(); ++i) halves[i] = ToHalf(floats[i]);
}

void HalvesToFloats(const uint16_t* halves, std::span<float> floats) {
  for (size_t i = 0; i < floats.size(); ++i) floats[i] = ToFloat(halves[i]);
}

}  // namespace vixen::codec
