// SPDX-License-Identifier: Apache-2.0
#include "market/quality.h"

#include <algorithm>
#include <cmath>

namespace vixen::market {
namespace {

constexpr size_t kSamples = 1'000'000;
constexpr double kDeviations = 20;
// Of a normal distribution: deviation / median of the absolute value.
constexpr double kDeviationOfMedian = 1.4826;

// Calls visit(bar) for every bar whose predecessor belongs to the same segment; every `stride`-th.
template <typename Visit>
void ForEachStep(const Bars& bars, size_t stride, Visit visit) {
  for (size_t bar = 1; bar < bars.size(); bar += stride) {
    if (bars.last[bar - 1] == 0) visit(bar);
  }
}

uint64_t StepBefore(const Bars& bars, size_t bar) {
  return static_cast<uint64_t>(bars.timestamp[bar]) -
         static_cast<uint64_t>(bars.timestamp[bar - 1]);
}

double ReturnOf(const Bars& bars, size_t bar) {
  return std::log(bars.close[bar] / bars.close[bar - 1]);
}

int64_t MostFrequentStep(const Bars& bars, size_t stride) {
  std::vector<uint64_t> steps;
  ForEachStep(bars, stride, [&](size_t bar) { steps.push_back(StepBefore(bars, bar)); });
  std::ranges::sort(steps);
  uint64_t best = 0;
  size_t most = 0;
  for (size_t begin = 0; begin < steps.size();) {
    size_t end = begin;
    while (end < steps.size() && steps[end] == steps[begin]) ++end;
    if (end - begin > most) {
      most = end - begin;
      best = steps[begin];
    }
    begin = end;
  }
  return best > static_cast<uint64_t>(INT64_MAX) ? 0 : static_cast<int64_t>(best);
}

double OutlierBound(const Bars& bars, size_t stride) {
  std::vector<double> sizes;
  ForEachStep(bars, stride, [&](size_t bar) {
    const double size = std::fabs(ReturnOf(bars, bar));
    if (size > 0) sizes.push_back(size);
  });
  if (sizes.empty()) return 0;
  const auto middle = sizes.begin() + static_cast<ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  return kDeviations * kDeviationOfMedian * *middle;
}

// Keeps the examples with the largest `size(value)`, largest first.
template <typename Value, typename Size>
void Keep(std::pair<int64_t, Value> example, Size size,
          std::vector<std::pair<int64_t, Value>>& examples) {
  const auto place = std::ranges::upper_bound(
      examples, size(example.second), std::greater(),
      [size](const std::pair<int64_t, Value>& other) { return size(other.second); });
  examples.insert(place, example);
  if (examples.size() > QualityReport::kExamples) examples.pop_back();
}

void FindGaps(const Bars& bars, QualityReport& report) {
  const uint64_t interval = static_cast<uint64_t>(report.interval_ns);
  if (interval == 0) return;
  ForEachStep(bars, 1, [&](size_t bar) {
    const uint64_t step = StepBefore(bars, bar);
    if (step <= interval) return;
    ++report.gaps;
    report.missing_bars += step / interval - 1 + (step % interval != 0 ? 1 : 0);
    const int64_t length = static_cast<int64_t>(std::min<uint64_t>(step, INT64_MAX));
    Keep(
        std::pair(bars.timestamp[bar - 1], length), [](int64_t ns) { return ns; },
        report.longest_gaps);
  });
}

void FindOutliers(const Bars& bars, QualityReport& report) {
  if (report.outlier_bound == 0) return;
  ForEachStep(bars, 1, [&](size_t bar) {
    const double value = ReturnOf(bars, bar);
    if (std::fabs(value) <= report.outlier_bound) return;
    ++report.outliers;
    Keep(
        std::pair(bars.timestamp[bar], value), [](double x) { return std::fabs(x); },
        report.largest_outliers);
  });
}

void FindStillness(const Bars& bars, QualityReport& report) {
  size_t run_begin = 0;
  for (size_t bar = 0; bar < bars.size(); ++bar) {
    report.motionless += bars.high[bar] == bars.low[bar] ? 1 : 0;
    if (bar > 0 && (bars.last[bar - 1] != 0 || bars.close[bar] != bars.close[bar - 1]))
      run_begin = bar;
    if (bar + 1 - run_begin > report.longest_still) {
      report.longest_still = bar + 1 - run_begin;
      report.longest_still_time = bars.timestamp[run_begin];
    }
  }
}

size_t StrideOf(const Bars& bars) { return std::max<size_t>(1, bars.size() / kSamples); }

}  // namespace

int64_t IntervalOf(const Bars& bars) { return MostFrequentStep(bars, StrideOf(bars)); }

QualityReport QualityOf(const Bars& bars) {
  QualityReport report;
  report.interval_ns = IntervalOf(bars);
  report.outlier_bound = OutlierBound(bars, StrideOf(bars));
  FindGaps(bars, report);
  FindOutliers(bars, report);
  FindStillness(bars, report);
  return report;
}

}  // namespace vixen::market
