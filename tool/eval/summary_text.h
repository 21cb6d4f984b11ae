// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tool/eval/evaluation.h"

namespace vixen::tool {

// What a terminal shows of an evaluation: about ten lines beside buy-and-hold and flat, then the
// warnings.
std::string SummaryText(const Evaluation& evaluation);

}  // namespace vixen::tool
