// SPDX-License-Identifier: Apache-2.0
// The sections of the report, each a piece of HTML.
#pragma once

#include <string>

#include "tool/eval/evaluation.h"
#include "tool/report/training_log.h"

namespace vixen::tool {

std::string TitleOf(const Evaluation& evaluation);
std::string HeadSection(const Evaluation& evaluation);  // facts and warnings
std::string CurveSection(const Evaluation& evaluation);
std::string MetricSection(const Evaluation& evaluation);
std::string EvidenceSection(const Evaluation& evaluation);  // intervals, folds, seeds, costs
std::string TradeSection(const Evaluation& evaluation);
std::string BehaviourSection(const Evaluation& evaluation);
std::string TrainingSection(const TrainingLog& log);
std::string ProvenanceSection(const Evaluation& evaluation);

}  // namespace vixen::tool
