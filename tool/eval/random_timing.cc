// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/random_timing.h"

#include <cmath>
#include <vector>

namespace vixen::tool {

RandomTiming CompareWithRandomTiming(std::span<const StepAccount> steps, uint64_t shifts) {
  RandomTiming result;
  const size_t n = steps.size();
  if (n < kLeastStepsForTiming) return result;
  std::vector<double> exposure(n), market(n);
  double cost = 0;
  for (size_t i = 0; i < n; ++i) {
    if (steps[i].equity_before <= 0) return result;
    exposure[i] = steps[i].exposure();
    market[i] = steps[i].next_close / steps[i].price - 1;
    cost += steps[i].costs() / steps[i].equity_before;
  }
  const auto mean_at = [&](size_t shift) {
    double sum = 0;
    for (size_t i = 0; i + shift < n; ++i) sum += exposure[i + shift] * market[i];
    for (size_t i = n - shift; i < n; ++i) sum += exposure[i + shift - n] * market[i];
    return (sum - cost) / static_cast<double>(n);
  };
  result.shifts = shifts;
  result.mean_return = mean_at(0);
  // Sums in another order differ in the last digits; a tie must count as one.
  const double tolerance = 1e-12 * (std::abs(result.mean_return) + cost / static_cast<double>(n));
  uint64_t as_good = 0;
  for (uint64_t k = 1; k <= shifts; ++k) {
    const double mean = mean_at(k * n / (shifts + 1));
    result.shifted_mean_return += mean / static_cast<double>(shifts);
    as_good += mean >= result.mean_return - tolerance;
  }
  result.as_good = static_cast<double>(as_good) / static_cast<double>(shifts);
  return result;
}

}  // namespace vixen::tool
