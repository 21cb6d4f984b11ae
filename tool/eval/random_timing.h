// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tool/eval/account.h"

namespace vixen::tool {

// How the policy's result compares with the same exposures at other times.
struct RandomTiming {
  uint64_t shifts = 0;             // 0: too few steps to say
  double as_good = 0;              // share of the shifts with at least the policy's mean return
  double mean_return = 0;          // a step, of the policy under the same simplified books
  double shifted_mean_return = 0;  // mean over the shifts
};

inline constexpr uint64_t kLeastStepsForTiming = 200;

// Moves the series of exposures and costs, as a ring, against the market's returns by `shifts`
// evenly spaced distances: exposure, turnover and costs stay, the timing becomes arbitrary. A
// policy with no sense of timing lies anywhere among the shifts; one that never changes its
// exposure ties with all. O(steps · shifts).
RandomTiming CompareWithRandomTiming(std::span<const StepAccount> steps, uint64_t shifts = 200);

}  // namespace vixen::tool
