// SPDX-License-Identifier: Apache-2.0
// Random numbers of the environment ("Random numbers" in docs/environment.md): one 32-bit LCG a
// slot, seeded by an indexable SplitMix64, so that any slot of any launch can be computed again
// alone.
#pragma once

#include <cstdint>

#include "kernels/env/host_device.h"

namespace vixen::kernels {

VIXEN_HOST_DEVICE uint32_t NextRandom(uint32_t x) { return x * 1664525u + 1013904223u; }

// In [0, 1]; both ends occur.
VIXEN_HOST_DEVICE float UniformOf(uint32_t x) {
  return static_cast<float>(x & 0x7FFFFFu) / static_cast<float>(0x7FFFFF);
}

// Advances `x` and returns the uniform of its new value.
VIXEN_HOST_DEVICE float DrawUniform(uint32_t& x) {
  x = NextRandom(x);
  return UniformOf(x);
}

// Output n of the SplitMix64 stream of (run seed, launch k).
VIXEN_HOST_DEVICE uint64_t SeedWord(uint64_t seed, uint64_t launch, uint64_t n) {
  uint64_t z = (seed ^ (launch * 0xD1342543DE82EF95ull)) + (n + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

struct SlotSeed {
  uint32_t rng;         // LCG state x
  uint32_t start_draw;  // what StartBar makes the first start of
};

VIXEN_HOST_DEVICE SlotSeed SeedOfSlot(uint64_t seed, uint64_t launch, uint32_t slot) {
  const uint64_t n = 2ull * slot;
  return {static_cast<uint32_t>(SeedWord(seed, launch, n)),
          static_cast<uint32_t>(SeedWord(seed, launch, n + 1) >> 32)};
}

}  // namespace vixen::kernels
