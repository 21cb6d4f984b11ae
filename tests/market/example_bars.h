// SPDX-License-Identifier: Apache-2.0
// Bars that several tests start from.
#pragma once

#include <cstdint>

#include "market/bar.h"

namespace vixen::market {

inline constexpr int64_t kMinute = 60'000'000'000;

void AppendBar(Bars& bars, int64_t timestamp, double open, double high, double low, double close,
               double volume, bool last);

// The 80-bar series of docs/features.md: prices times `price_factor`.
Bars SineSeries(double price_factor = 1);

// A random walk in cents with random volumes, one-minute bars, `segments` segments of `length`
// bars.
Bars RandomBars(uint64_t seed, int segments, int length);

// One segment of such a walk, from `start` on.
Bars Walk(int count, uint64_t seed = 1, int64_t start = 1'704'205'800'000'000'000);

// Bars [begin, end) as an input of their own, the last one marked.
Bars Cut(const Bars& bars, size_t begin, size_t end);

}  // namespace vixen::market
