// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace vixen::bench {

// What a /metrics page says now: counters and gauges by name and label.
class MetricSamples {
 public:
  // Prometheus' text format; lines that are no sample are left out.
  explicit MetricSamples(const std::string& page);

  // The sum over the series of a metric; 0 where there is none.
  double Total(std::string_view name) const;
  // The values of a metric by one label, summed over the others.
  std::map<std::string, double> By(std::string_view name, std::string_view label) const;

 private:
  std::map<std::string, double, std::less<>> samples_;  // "name{labels}" → value
};

}  // namespace vixen::bench
