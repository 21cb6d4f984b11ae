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

void FillRealisedVolatility(const Series& returns, FeatureSink& sink) {
  const Series rv10 = RealisedVolatility(returns, 10), rv30 = RealisedVolatility(returns, 30),
               rv60 = RealisedVolatility(returns, 60);
  sink.Fill(33, [&](size_t k) { return rv10[k]; });
  sink.Fill(34, [&](size_t k) { return rv30[k]; });
  sink.Fill(35, [&](size_t k) { return rv60[k]; });
  // ln 1 = 0 where either is 0.
  sink.FillLog(36, [&](size_t k) {
    const double ratio = rv10[k] / rv60[k];
    return rv10[k] == 0 || rv60[k] == 0 ? 1 : ratio;
  });
}

void FillRangeEstimators(const BarBlock& bars, FeatureSink& sink) {
  const auto open = bars.open, high = bars.high, low = bars.low, close = bars.close;
  const Series range = LogSeries(0, bars.size(), [&](size_t k) { return high[k] / low[k]; });
  const Series body = LogSeries(0, bars.size(), [&](size_t k) { return close[k] / open[k]; });
  sink.Fill(6, [&](size_t k) { return body[k]; });
  sink.Fill(7, [&](size_t k) { return range[k]; });
  const Series range_squared =
      Series::Of(0, bars.size(), [&](size_t k) { return range[k] * range[k]; });
  const Series parkinson = WindowMean(range_squared, 20);
  sink.Fill(37, [&](size_t k) { return std::sqrt(parkinson[k] / (4 * std::numbers::ln2)); });
  const Series garman_klass =
      WindowMean(Series::Of(0, bars.size(),
                            [&](size_t k) {
                              return 0.5 * range_squared[k] -
                                     (2 * std::numbers::ln2 - 1) * (body[k] * body[k]);
                            }),
                 20);
  sink.Fill(38, [&](size_t k) { return std::sqrt(std::max(0.0, garman_klass[k])); });
}

void FillBollinger(const BarBlock& bars, FeatureSink& sink) {
  const auto close = bars.close;
  const Series mean = WindowMean(close, 20), deviation = WindowDeviation(close, mean, 20);
  sink.Fill(39, [&](size_t k) {
    const double place = (close[k] - mean[k]) / (4 * deviation[k]) + 0.5;
    return PriceIsZero(deviation[k], close[k]) ? 0.5 : place;
  });
  sink.Fill(40, [&](size_t k) {
    return PriceIsZero(deviation[k], close[k]) ? 0 : 4 * deviation[k] / mean[k];
  });
}

void FillIlliquidity(const BarBlock& bars, const Series& returns, FeatureSink& sink) {
  if (!bars.has_volume) {
    sink.Fill(46, [](size_t) { return 0.0; });
    return;
  }
  const auto close = bars.close, volume = bars.volume;
  const Series illiquidity = WindowMean(
      Series::Of(
          1, bars.size(),
          [&](size_t k) { return std::abs(returns[k]) / (close[k] * std::max(volume[k], 1.0)); }),
      20);
  sink.FillLog(46, [&](size_t k) { return 1e-15 + illiquidity[k]; });
}

}  // namespace

void FillReturnFeatures(const BarBlock& bars, Carry& carry, FeatureSink& sink) {
  const auto close = bars.close;
  const Series average_true_range = Wilder(TrueRange(bars), 14, carry);
  sink.Fill(32, [&](size_t k) { return average_true_range[k] / close[k]; });
  const Series returns =
      LogSeries(1, bars.size(), [&](size_t k) { return close[k] / close[k - 1]; });
  sink.Fill(0, [&](size_t k) { return returns[k]; });
  FillRealisedVolatility(returns, sink);
  FillIlliquidity(bars, returns, sink);
  FillRangeEstimators(bars, sink);
  FillBollinger(bars, sink);
}

}  // namespace vixen::market
