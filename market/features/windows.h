// SPDX-License-Identifier: Apache-2.0
// Windows of the last n values of a series, the current one included; results begin at
// x.from + n − 1. Each window is summed afresh from its oldest to its newest value: a running sum
// would lose digits and make a row depend on how much history came before its window. Neighbouring
// windows are summed side by side in vector registers, which changes no window's order. O(size · n)
// for sums, O(size · log n) for extremes.
#pragma once

#include "market/features/series.h"

namespace vixen::market {

Series WindowSum(SeriesView x, size_t n);
Series WindowMean(SeriesView x, size_t n);
// Population deviation around `mean` (= WindowMean(x, n)), two passes, before the zero rule.
Series WindowDeviation(SeriesView x, const Series& mean, size_t n);
// Mean of |x_j − mean| over the window.
Series WindowMeanAbsoluteDeviation(SeriesView x, const Series& mean, size_t n);
// Σ (j − (n−1)/2)·(x_j − x_oldest), j = 0 (oldest) … n−1: the numerator of a least-squares slope.
Series WindowSlopeNumerator(SeriesView x, size_t n);
Series WindowMax(SeriesView x, size_t n);
Series WindowMin(SeriesView x, size_t n);
// Bars since the window's largest (smallest) value; the latest one wins a tie.
Series BarsSinceMax(SeriesView x, size_t n);
Series BarsSinceMin(SeriesView x, size_t n);

}  // namespace vixen::market
