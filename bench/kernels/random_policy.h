// SPDX-License-Identifier: Apache-2.0
// A random market and random weights in memory, for measurements.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/env/settings.h"
#include "kernels/nn/network.h"

namespace vixen::bench {

// A geometric random walk with features of unit variance. `view` points into the other members, so
// the object must stay where it is.
struct RandomMarket {
  RandomMarket(uint32_t bars, uint32_t feature_count, uint64_t seed);
  RandomMarket(const RandomMarket&) = delete;
  RandomMarket& operator=(const RandomMarket&) = delete;

  std::vector<float> features;
  std::vector<float> targets;
  std::vector<uint8_t> last;
  kernels::MarketView view;
};

// Uniform in ±1/√inputs, as fresh layers of common frameworks are.
kernels::Parameters RandomParameters(const kernels::Architecture& architecture,
                                     kernels::WeightsKind kind, uint64_t seed);

}  // namespace vixen::bench
