// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/status.h"
#include "tool/eval/evaluation.h"

namespace vixen::tool {

// What the parts of an evaluation that was read must have in common: steps covered by parts, trades
// inside them, columns of one length. INVALID_ARGUMENT names what differs, with both numbers.
absl::Status CheckEvaluation(const Evaluation& evaluation);

}  // namespace vixen::tool
