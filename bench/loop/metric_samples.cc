// SPDX-License-Identifier: Apache-2.0
#include "bench/loop/metric_samples.h"

#include <sstream>

#include "absl/strings/numbers.h"
#include "base/str_cat.h"

namespace vixen::bench {
namespace {

bool IsOf(std::string_view series, std::string_view name) {
  return series.starts_with(name) && (series.size() == name.size() || series[name.size()] == '{');
}

}  // namespace

MetricSamples::MetricSamples(const std::string& page) {
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.rfind(' ');
    double value = 0;
    if (line.starts_with('#') || space == std::string::npos ||
        !absl::SimpleAtod(line.substr(space + 1), &value)) {
      continue;
    }
    samples_.insert_or_assign(line.substr(0, space), value);
  }
}

double MetricSamples::Total(std::string_view name) const {
  double total = 0;
  for (auto sample = samples_.lower_bound(name);
       sample != samples_.end() && sample->first.starts_with(name); ++sample) {
    if (IsOf(sample->first, name)) total += sample->second;
  }
  return total;
}

std::map<std::string, double> MetricSamples::By(std::string_view name,
                                                std::string_view label) const {
  std::map<std::string, double> values;
  const std::string before = base::StrCat(label, "=\"");
  for (const auto& [series, value] : samples_) {
    const size_t found = series.find(before);
    if (!IsOf(series, name) || found == std::string::npos) continue;
    const size_t begin = found + before.size();
    values[series.substr(begin, series.find('"', begin) - begin)] += value;
  }
  return values;
}

}  // namespace vixen::bench
