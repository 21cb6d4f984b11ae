// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tool/eval/evaluation.h"

namespace vixen::tool {

// Adds to `evaluation.warnings` what benchmarks, random timing, resamples, multiples of the costs,
// folds and seeds say against the result; of a policy that never traded only folds and seeds.
void AddEvidenceWarnings(bool traded, Evaluation& evaluation);

}  // namespace vixen::tool
