// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tool/eval/evaluation.h"
#include "tool/report/training_log.h"

namespace vixen::tool {

// One self-contained HTML page: no script, no network, light and dark, readable on a phone. Several
// evaluations follow one another below a table that compares them. REQUIRES: ≥ 1 evaluation.
std::string RenderReport(const std::vector<Evaluation>& evaluations,
                         const std::optional<TrainingLog>& training);

}  // namespace vixen::tool
