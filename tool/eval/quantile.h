// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace vixen::tool {

// Linear between the order statistics (type 7 of Hyndman and Fan, American Statistician 50 (1996)).
// REQUIRES: `sorted` ascending and not empty, share within [0, 1].
inline double QuantileOf(std::span<const double> sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(std::floor(place));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace vixen::tool
