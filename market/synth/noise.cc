// SPDX-License-Identifier: Apache-2.0
#include "market/synth/noise.h"

#include <cmath>
#include <numbers>

namespace vixen::market {
namespace {

constexpr uint64_t kGoldenGamma = 0x9E3779B97F4A7C15;

uint64_t Finalise(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace

// The stream is mixed in after the seed went through the finaliser: neighbouring seeds and streams
// would otherwise walk through the same SplitMix64 sequence, a few places apart.
Noise::Noise(uint64_t seed, uint64_t stream)
    : key_(Finalise(Finalise(seed + kGoldenGamma) ^ (stream * 0xD1342543DE82EF95 + 1))) {}

uint64_t Noise::Bits(uint64_t index) const { return Finalise(key_ + (index + 1) * kGoldenGamma); }

double Noise::Uniform(uint64_t index) const {
  return (static_cast<double>(Bits(index) >> 11) + 0.5) * 0x1p-53;
}

double Noise::Normal(uint64_t index) const {
  const uint64_t pair = index & ~uint64_t{1};
  const double radius = std::sqrt(-2 * std::log(Uniform(pair)));
  const double angle = 2 * std::numbers::pi * Uniform(pair + 1);
  return radius * ((index & 1) == 0 ? std::cos(angle) : std::sin(angle));
}

}  // namespace vixen::market
