// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "market/dataset.h"
#include "tool/eval/evaluation.h"

namespace vixen::tool {

// `range` cut into `folds` stretches of equally many steps (the last one may have more or fewer by
// one), each cut again at segment ends. A fold begins at the last bar of the one before it, so that
// no step is lost. 0 folds: parts of one stretch. INVALID_ARGUMENT when there are more folds than
// steps, or a fold holds none.
absl::StatusOr<std::vector<PlannedPart>> PlanParts(const market::Dataset& dataset,
                                                   market::BarRange range, uint64_t folds);

// Each fold's own metrics from the books of the whole curve. Weights' names are the caller's. A
// fold that the equity did not reach is left out.
std::vector<EvaluationFold> FoldsOf(const BookRun& policy, const BookRun& hold,
                                    const market::Dataset& dataset, double steps_a_year,
                                    double risk_free);

}  // namespace vixen::tool
