// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/random_timing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tool/eval/quantile.h"

namespace vixen::tool {
namespace {

// Of the steps, as shares of the equity before them.
struct Ring {
  std::vector<double> exposure;
  std::vector<double> cost;
  std::vector<double> market;  // return of the price over the step

  size_t size() const { return market.size(); }
  double Return(size_t step, size_t moved) const {
    return exposure[moved] * market[step] - cost[moved];
  }
};

bool MakeRing(std::span<const StepAccount> steps, Ring& ring) {
  for (const StepAccount& step : steps) {
    if (step.equity_before <= 0) return false;
    ring.exposure.push_back(step.exposure());
    ring.cost.push_back(step.costs() / step.equity_before);
    ring.market.push_back(step.next_close / step.price - 1);
  }
  return true;
}

struct ShiftResult {
  double sum = 0;                // of returns
  double growth = 1;             // E_n/E₀
  std::vector<double> at_point;  // growth after each point of the band
};

ShiftResult RunShift(const Ring& ring, size_t shift, const std::vector<uint64_t>& points) {
  ShiftResult result;
  result.at_point.reserve(points.size());
  size_t step = 0;
  for (const uint64_t point : points) {
    for (; step <= point; ++step) {
      const size_t moved = step + shift < ring.size() ? step + shift : step + shift - ring.size();
      const double r = ring.Return(step, moved);
      result.sum += r;
      result.growth *= std::max(1 + r, 0.0);
    }
    result.at_point.push_back(result.growth);
  }
  return result;
}

std::vector<uint64_t> BandPoints(size_t steps) {
  std::vector<uint64_t> points;
  const size_t count = std::min(steps, kMostBandPoints);
  for (size_t i = 1; i <= count; ++i) points.push_back(i * steps / count - 1);
  return points;
}

}  // namespace

RandomTiming CompareWithRandomTiming(std::span<const StepAccount> steps, uint64_t shifts) {
  RandomTiming result;
  const size_t n = steps.size();
  Ring ring;
  if (n < kLeastStepsForTiming || shifts == 0 || !MakeRing(steps, ring)) return result;
  const std::vector<uint64_t> points = BandPoints(n);
  const ShiftResult own = RunShift(ring, 0, points);
  result.shifts = shifts;
  result.mean_return = own.sum / static_cast<double>(n);
  const double cost = std::accumulate(ring.cost.begin(), ring.cost.end(), 0.0);
  // Sums in another order differ in the last digits; a tie must count as one.
  const double tolerance = 1e-12 * (std::abs(result.mean_return) + cost / static_cast<double>(n));
  const auto distance = [&](uint64_t k) { return k * n / (shifts + 1); };
  std::vector<ShiftResult> runs;
  uint64_t as_good = 0;
  for (uint64_t k = 1; k <= shifts; ++k) {
    runs.push_back(RunShift(ring, distance(k), points));
    const double mean = runs.back().sum / static_cast<double>(n);
    result.shifted_mean_return += mean / static_cast<double>(shifts);
    as_good += mean >= result.mean_return - tolerance;
  }
  result.as_good = static_cast<double>(as_good) / static_cast<double>(shifts);

  std::vector<size_t> order(runs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return runs[a].growth < runs[b].growth; });
  result.median_shift = distance(order[(runs.size() - 1) / 2] + 1);
  std::vector<double> values(runs.size());
  for (size_t point = 0; point < points.size(); ++point) {
    for (size_t k = 0; k < runs.size(); ++k) values[k] = runs[k].at_point[point];
    std::sort(values.begin(), values.end());
    result.band.step.push_back(points[point]);
    result.band.low.push_back(QuantileOf(values, 0.05));
    result.band.median.push_back(QuantileOf(values, 0.5));
    result.band.high.push_back(QuantileOf(values, 0.95));
  }
  result.total_return = {result.band.low.back() - 1, result.band.median.back() - 1,
                         result.band.high.back() - 1};
  return result;
}

std::vector<StepAccount> ShiftedBooks(std::span<const StepAccount> steps, uint64_t shift,
                                      double capital) {
  std::vector<StepAccount> books;
  books.reserve(steps.size());
  double equity = capital;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (equity <= 0) {  // nothing is left to trade with
      books.push_back({.price = steps[i].price,
                       .next_close = steps[i].next_close,
                       .equity_before = equity,
                       .equity = equity});
      continue;
    }
    const StepAccount& moved = steps[(i + shift) % steps.size()];
    const double scale = equity / moved.equity_before;
    StepAccount step{.price = steps[i].price,
                     .next_close = steps[i].next_close,
                     .equity_before = equity,
                     .position = moved.exposure() * equity / steps[i].price,
                     .fill_count = moved.fill_count,
                     .interest = moved.interest * scale};
    for (int f = 0; f < moved.fill_count; ++f) {
      step.fills[f] = {moved.fills[f].units * moved.price * scale / steps[i].price,
                       moved.fills[f].cost * scale};
    }
    equity += step.position * (step.next_close - step.price) - step.costs();
    step.equity = equity;
    books.push_back(step);
  }
  return books;
}

}  // namespace vixen::tool
