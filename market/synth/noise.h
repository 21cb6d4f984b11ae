// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vixen::market {

// Random numbers as a function of (seed, stream, index), so that any part of a synthetic market can
// be made alone: SplitMix64 addressed by index, and Box-Muller on pairs of its outputs.
class Noise {
 public:
  Noise(uint64_t seed, uint64_t stream);

  uint64_t Bits(uint64_t index) const;
  // In (0, 1), 53 bits.
  double Uniform(uint64_t index) const;
  // Standard normal.
  double Normal(uint64_t index) const;
  // An independent source.
  Noise Stream(uint64_t stream) const { return Noise(key_, stream); }

 private:
  uint64_t key_;
};

}  // namespace vixen::market
