// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace vixen::tool {

// Mean block length of the stationary bootstrap for the mean of `values`, by the automatic rule of
// Politis and White, Econometric Reviews 23 (2004), as corrected by Patton, Politis and White,
// Econometric Reviews 28 (2009): (2 Ĝ²/D̂)^⅓ n^⅓ with the flat-top lag window, D̂ = 2 ĝ(0)²; the
// window ends at twice the first lag of max(5, log₁₀ n) in a row whose autocorrelations lie within
// ±2 √(log₁₀ n/n). Between 1 and min(3 √n, n/3). 1 where nothing varies. O(n · lags), lags ≤ √n.
double StationaryBlockLength(std::span<const double> values);

}  // namespace vixen::tool
