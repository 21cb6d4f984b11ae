// SPDX-License-Identifier: Apache-2.0
// Golden cases are computed in float64, the rules in float32: where a barrier line and the bar's
// high or low are the same float32 number, the rules' tie hits (as ticks must) and the case may say
// otherwise.
#pragma once

#include <cstdint>

#include "kernels/batch/columns.h"
#include "kernels/verify/golden_case.h"

namespace vixen::kernels {

// True when step `place` of `slot` is such a tie: replayed from the case's start with its actions,
// the float32 line gives `computed`, the float64 line gives `expected`, and line and price are
// within one float32 step of each other.
bool IsBarrierTie(const GoldenCase& golden, uint64_t slot, uint64_t place, BarrierResult computed,
                  BarrierResult expected);

}  // namespace vixen::kernels
