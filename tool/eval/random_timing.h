// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "tool/eval/account.h"

namespace vixen::tool {

// How the policy's result compares with the same exposures at other times: the benchmark "random
// with equal turnover".
struct RandomTiming {
  uint64_t shifts = 0;             // 0: too few steps to say
  double as_good = 0;              // share of the shifts with at least the policy's mean return
  double mean_return = 0;          // a step, of the policy under the same books
  double shifted_mean_return = 0;  // mean over the shifts
  std::array<double, 3> total_return{};  // 5 %, 50 % and 95 % quantile over the shifts
  uint64_t median_shift = 0;  // in steps: that of the run with the (lower) median total return
  // Equity relative to E₀ at some steps: quantiles over the shifts, at most kMostBandPoints.
  struct Band {
    std::vector<uint64_t> step;
    std::vector<double> low;
    std::vector<double> median;
    std::vector<double> high;
  } band;
};

inline constexpr uint64_t kLeastStepsForTiming = 200;
inline constexpr size_t kMostBandPoints = 300;

// Moves the series of exposures and of costs (as shares of equity), as a ring, against the market's
// returns by `shifts` evenly spaced distances: exposure, turnover and costs stay to the digit, the
// timing becomes arbitrary. A step's return is exposure·(next close/price − 1) − costs, which at
// distance 0 is the policy's own. A policy with no sense of timing lies anywhere among the shifts;
// one that never changes its exposure ties with all. O(steps · shifts).
RandomTiming CompareWithRandomTiming(std::span<const StepAccount> steps, uint64_t shifts = 200);

// The books of one shift, beginning at `capital`. Units follow from the exposure, so that a change
// of price alone changes them without a fill: fills and costs are the policy's, moved.
std::vector<StepAccount> ShiftedBooks(std::span<const StepAccount> steps, uint64_t shift,
                                      double capital);

}  // namespace vixen::tool
