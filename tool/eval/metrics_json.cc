// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/metrics_json.h"

#include "absl/strings/str_cat.h"
#include "tool/eval/evaluation.h"

namespace vixen::tool {

MetricsJson ToMetricsJson(const Metrics& metrics) {
  MetricsJson json;
  for (const MetricSpec& spec : MetricSpecs()) {
    const std::string key(spec.key);
    const Metric& metric = metrics[spec.id];
    json.values[key] = metric.value ? Json(*metric.value) : Json(nullptr);
    if (!metric.value) json.reasons[key] = metric.reason;
  }
  json.values["drawdown_recovered"] = metrics.recovered;
  json.values["ruined"] = metrics.ruined;
  return json;
}

absl::Status ReadMetrics(const std::string& name, const Json& values, const Json& reasons,
                         Metrics& metrics) {
  for (const MetricSpec& spec : MetricSpecs()) {
    const std::string key(spec.key);
    const Json& value = values.at(key);
    if (value.is_number()) {
      metrics[spec.id].value = value.get<double>();
    } else if (value.is_null()) {
      metrics[spec.id].reason = reasons.value(key, "");
    } else {
      return absl::InvalidArgumentError(absl::StrCat(name, ".", key, " is no number"));
    }
  }
  metrics.recovered = values.at("drawdown_recovered").get<bool>();
  metrics.ruined = values.at("ruined").get<bool>();
  return absl::OkStatus();
}

Json SpreadsToJson(const std::vector<const Metrics*>& metrics) {
  Json object = Json::object();
  for (const MetricSpec& spec : MetricSpecs()) {
    const Spread spread = SpreadOf(metrics, spec.id);
    if (spread.count == 0) continue;
    object[std::string(spec.key)] = {
        {"count", spread.count}, {"mean", spread.mean}, {"deviation", spread.deviation},
        {"least", spread.least}, {"most", spread.most}, {"above_zero", spread.above_zero}};
  }
  return object;
}

Json IntervalsToJson(const Intervals& intervals) {
  Json object = Json::object();
  for (size_t i = 0; i < intervals.size(); ++i) {
    const std::string key(MetricSpecs()[static_cast<size_t>(kIntervalMetrics[i])].key);
    object[key] = intervals[i] ? Json({intervals[i]->low, intervals[i]->high}) : Json(nullptr);
  }
  return object;
}

void IntervalsFromJson(const Json& object, Intervals& intervals) {
  for (size_t i = 0; i < intervals.size(); ++i) {
    const std::string key(MetricSpecs()[static_cast<size_t>(kIntervalMetrics[i])].key);
    const Json& value = object.at(key);
    if (!value.is_null()) intervals[i] = Interval{value.at(0), value.at(1)};
  }
}

}  // namespace vixen::tool
