// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tool/eval/evaluation.h"

namespace vixen::tool {

// Appends to `evaluation.warnings`, in plain words, what makes its result weak evidence: ruin, few
// trades, costs that eat the profit or would at a multiple, a benchmark that did better, a result
// that arbitrary timing or a resample of its steps reaches as well, folds or seeds without profit,
// a market of one direction, one action all the time, chained instruments, a calendar that does not
// fit.
void AddWarnings(Evaluation& evaluation);

}  // namespace vixen::tool
