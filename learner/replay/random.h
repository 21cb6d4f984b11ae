// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace vixen::learner {

// SplitMix64: the state is a counter, so that one number in a checkpoint resumes the sequence.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  // In [0, 1), 53 bits.
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  // What a new object takes as its seed to go on from here.
  uint64_t state() const { return state_; }

 private:
  uint64_t state_;
};

}  // namespace vixen::learner
