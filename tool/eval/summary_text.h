// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tool/eval/evaluation.h"

namespace vixen::tool {

// "greedy", or "random in 5.00 % of its steps, 10 runs".
std::string PolicyKind(const Evaluation& evaluation);

// What a terminal shows of an evaluation: about ten lines beside the benchmarks, intervals, costs,
// folds and seeds, then the warnings.
std::string SummaryText(const Evaluation& evaluation);

}  // namespace vixen::tool
