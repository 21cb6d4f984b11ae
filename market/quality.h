// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "market/bar.h"

namespace vixen::market {

// What to look at before one trusts a series. Counts are over all bars; "step" is the time from a
// bar to the next of its segment, "return" the logarithm of the ratio of their closes.
struct QualityReport {
  static constexpr size_t kExamples = 5;

  int64_t interval_ns = 0;    // the most frequent step; 0: there is none
  uint64_t gaps = 0;          // steps longer than it
  uint64_t missing_bars = 0;  // bars of that interval that would fill them
  std::vector<std::pair<int64_t, int64_t>>
      longest_gaps;          // start of the bar before, ns; longest first
  double outlier_bound = 0;  // 20 robust deviations of the returns that are not 0
  uint64_t outliers = 0;     // returns beyond it
  std::vector<std::pair<int64_t, double>>
      largest_outliers;            // start of the bar, return; largest first
  uint64_t motionless = 0;         // bars whose four prices are equal
  uint64_t longest_still = 0;      // most bars in a row with the same close
  int64_t longest_still_time = 0;  // start of the first of them
};

// The most frequent step; 0: there is none.
int64_t IntervalOf(const Bars& bars);

// `bars` must be valid. O(bars); memory does not grow with them.
QualityReport QualityOf(const Bars& bars);

}  // namespace vixen::market
