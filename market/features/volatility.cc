// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "market/features/families.h"

namespace vixen::market {
namespace {

// Realised volatility: deviation of the last n log returns, exactly 0 when ≈0.
Series RealisedVolatility(const Series& returns, size_t n) {
  const Series mean = WindowMean(returns, n);
  const Series deviation = WindowDeviation(returns, mean, n);
  return Series::Of(deviation.from(), deviation.size(),
                    [&](size_t k) { return RatioIsZero(deviation[k]) ? 0 : deviation[k]; });
}

void FillRealisedVolatility(const BarBlock& bars, FeatureSink& sink) {
  const Series returns = LogReturn(bars);
  const Series rv10 = RealisedVolatility(returns, 10), rv30 = RealisedVolatility(returns, 30),
               rv60 = RealisedVolatility(returns, 60);
  sink.Fill(33, [&](size_t k) { return rv10[k]; });
  sink.Fill(34, [&](size_t k) { return rv30[k]; });
  sink.Fill(35, [&](size_t k) { return rv60[k]; });
  sink.Fill(
      36, [&](size_t k) { return rv10[k] == 0 || rv60[k] == 0 ? 0 : std::log(rv10[k] / rv60[k]); });
}

void FillRangeEstimators(const BarBlock& bars, FeatureSink& sink) {
  const Series range_squared = Series::Of(0, bars.size(), [&](size_t k) {
    const double range = std::log(bars.high[k] / bars.low[k]);
    return range * range;
  });
  const Series parkinson = WindowMean(range_squared, 20);
  sink.Fill(37, [&](size_t k) { return std::sqrt(parkinson[k] / (4 * std::numbers::ln2)); });
  const Series garman_klass = WindowMean(
      Series::Of(0, bars.size(),
                 [&](size_t k) {
                   const double body = std::log(bars.close[k] / bars.open[k]);
                   return 0.5 * range_squared[k] - (2 * std::numbers::ln2 - 1) * (body * body);
                 }),
      20);
  sink.Fill(38, [&](size_t k) { return std::sqrt(std::max(0.0, garman_klass[k])); });
}

void FillBollinger(const BarBlock& bars, FeatureSink& sink) {
  const auto close = bars.close;
  const Series mean = WindowMean(close, 20), deviation = WindowDeviation(close, mean, 20);
  sink.Fill(39, [&](size_t k) {
    if (PriceIsZero(deviation[k], close[k])) return 0.5;
    return (close[k] - mean[k]) / (4 * deviation[k]) + 0.5;
  });
  sink.Fill(40, [&](size_t k) {
    return PriceIsZero(deviation[k], close[k]) ? 0 : 4 * deviation[k] / mean[k];
  });
}

}  // namespace

void FillVolatilityFeatures(const BarBlock& bars, Carry& carry, FeatureSink& sink) {
  const Series average_true_range = Wilder(TrueRange(bars), 14, carry);
  sink.Fill(32, [&](size_t k) { return average_true_range[k] / bars.close[k]; });
  FillRealisedVolatility(bars, sink);
  FillRangeEstimators(bars, sink);
  FillBollinger(bars, sink);
}

}  // namespace vixen::market
