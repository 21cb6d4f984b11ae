// SPDX-License-Identifier: Apache-2.0
// Gathers states into the [width][rows] blocks that the CPU networks read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/env/settings.h"

namespace vixen::kernels {

// Column `r` of `block` [S][rows] becomes features[bar] ‖ portfolio.
inline void GatherState(const MarketView& market, uint32_t bar, const float* portfolio, size_t r,
                        size_t rows, float* block) {
  const size_t width = market.feature_count;
  const float* features = market.features + bar * width;
  for (size_t j = 0; j < width; ++j) block[j * rows + r] = features[j];
  for (size_t j = 0; j < kPortfolioFeatures; ++j) block[(width + j) * rows + r] = portfolio[j];
}

// The first `count` entries of a state, one `stride` apart.
inline void GatherEmbedding(const MarketView& market, uint32_t bar, const float* portfolio,
                            size_t count, size_t stride, float* to) {
  const size_t width = market.feature_count;
  const float* features = market.features + bar * width;
  for (size_t j = 0; j < count; ++j) {
    to[j * stride] = j < width ? features[j] : portfolio[j - width];
  }
}

}  // namespace vixen::kernels
