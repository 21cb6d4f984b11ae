// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/block_length.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace vixen::tool {

double StationaryBlockLength(std::span<const double> values) {
  const size_t n = values.size();
  if (n < 4) return 1;
  const auto count = static_cast<double>(n);
  std::vector<double> centred(values.begin(), values.end());
  const double mean = std::accumulate(centred.begin(), centred.end(), 0.0) / count;
  for (double& value : centred) value -= mean;
  const auto covariance = [&](size_t lag) {
    return std::inner_product(centred.begin() + static_cast<std::ptrdiff_t>(lag), centred.end(),
                              centred.begin(), 0.0) /
           count;
  };
  const double variance = covariance(0);
  if (!(variance > 0)) return 1;

  const double most = std::ceil(std::min(3 * std::sqrt(count), count / 3));
  const auto run = static_cast<size_t>(std::max(5.0, std::floor(std::log10(count))));
  const size_t last_lag = std::min(static_cast<size_t>(std::ceil(std::sqrt(count))) + run, n - 1);
  const double limit = 2 * std::sqrt(std::log10(count) / count);
  std::vector<double> gamma = {variance};
  size_t small = 0;  // autocorrelations in a row within the limit
  size_t lag = 0;
  while (small < run && lag < last_lag) {
    ++lag;
    gamma.push_back(covariance(lag));
    small = std::abs(gamma.back() / variance) < limit ? small + 1 : 0;
  }
  // The first lag of the run, as in the correction's own program.
  const size_t first_small = small == run ? lag - run + 1 : last_lag;
  const size_t window = std::min(2 * first_small, last_lag);
  while (gamma.size() <= window) gamma.push_back(covariance(gamma.size()));

  double spectrum = variance;  // ĝ(0)
  double slope = 0;            // Ĝ
  for (size_t k = 1; k <= window; ++k) {
    const double place = static_cast<double>(k) / static_cast<double>(window);
    const double weight = place <= 0.5 ? 1 : 2 * (1 - place);
    spectrum += 2 * weight * gamma[k];
    slope += 2 * weight * static_cast<double>(k) * gamma[k];
  }
  const double length = std::cbrt(slope * slope / (spectrum * spectrum) * count);
  if (!std::isfinite(length)) return most;
  return std::clamp(length, 1.0, most);
}

}  // namespace vixen::tool
