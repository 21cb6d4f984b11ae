// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tool/report/svg_chart.h"

namespace vixen::tool {

// A learner's training log (JSON lines): every numeric field as a curve over the rows that have it.
// Nested objects give names joined by dots.
struct TrainingLog {
  struct Curve {
    std::vector<double> row;  // line number, from 0
    std::vector<double> value;
  };
  std::map<std::string, Curve> curves;
  size_t rows = 0;
  size_t unreadable = 0;  // a last line cut short while the learner was killed
};

// INVALID_ARGUMENT naming `source` and line when a line other than the last is not a JSON object.
absl::StatusOr<TrainingLog> ParseTrainingLog(const std::string& text, const std::string& source);

struct TrainingChart {
  std::string heading;
  std::string caption;
  Chart chart;
};
// Loss, reward by term, returns, values, score and ε: those that the log has, over transitions (or
// updates, or rows).
std::vector<TrainingChart> TrainingCharts(const TrainingLog& log);

}  // namespace vixen::tool
