// SPDX-License-Identifier: Apache-2.0
// Metrics, their spread over runs and their intervals as JSON.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tool/eval/bootstrap.h"
#include "tool/eval/json_fields.h"
#include "tool/eval/metrics.h"

namespace vixen::tool {

// Numbers and nulls under "metrics", the nulls' reasons under "reasons": a reader finds plain
// numbers.
struct MetricsJson {
  Json values = Json::object();
  Json reasons = Json::object();
};

MetricsJson ToMetricsJson(const Metrics& metrics);

// INVALID_ARGUMENT names the metric of `name` that is no number; a missing one is nlohmann's own
// exception, as everywhere in the file.
absl::Status ReadMetrics(const std::string& name, const Json& values, const Json& reasons,
                         Metrics& metrics);

// {"sharpe": {"mean": …}} over folds or seeds, for programs that read the file.
Json SpreadsToJson(const std::vector<const Metrics*>& metrics);

Json IntervalsToJson(const Intervals& intervals);
void IntervalsFromJson(const Json& object, Intervals& intervals);

}  // namespace vixen::tool
