// SPDX-License-Identifier: Apache-2.0
#include "tool/metric_text.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "tool/format.h"

namespace vixen::tool {

std::string MetricText(const MetricSpec& spec, const Metric& metric) {
  if (!metric.value) return "\u2013";
  const double value = *metric.value;
  switch (spec.unit) {
    case MetricUnit::kShare:
      return Percent(value);
    case MetricUnit::kRatio:
      return Decimal(value, 2);
    case MetricUnit::kMoney:
      return Decimal(value, 2);
    case MetricUnit::kCount:
      return Decimal(value, 0);
    case MetricUnit::kSteps:
      return absl::StrCat(Decimal(value, value == static_cast<uint64_t>(value) ? 0 : 1),
                          value == 1 ? " bar" : " bars");
    case MetricUnit::kTimes:
      return absl::StrCat(Decimal(value, 2), "×");
  }
  return "";
}

}  // namespace vixen::tool
