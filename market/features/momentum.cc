// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "market/features/families.h"

namespace vixen::market {
namespace {

// g/(g + l) of Wilder's averages of gains and losses, from n; ½ when nothing moved.
Series RelativeStrength(const BarBlock& bars, size_t n, const Series& gain, const Series& loss) {
  return Series::Of(n, bars.size(), [&](size_t k) {
    const double both = gain[k] + loss[k];
    return PriceIsZero(both, bars.close[k]) ? 0.5 : gain[k] / both;
  });
}

void FillRelativeStrength(const BarBlock& bars, Carry& carry, FeatureSink& sink) {
  const auto close = bars.close;
  const Series up =
      Series::Of(1, bars.size(), [&](size_t k) { return std::max(close[k] - close[k - 1], 0.0); });
  const Series down = Series::Of(
      1, bars.size(), [&](size_t k) { return std::max(-(close[k] - close[k - 1]), 0.0); });
  const auto averages =
      Wilders<4>({Average(up, 14), Average(down, 14), Average(up, 5), Average(down, 5)}, carry);
  const Series rsi14 = RelativeStrength(bars, 14, averages[0], averages[1]);
  const Series rsi5 = RelativeStrength(bars, 5, averages[2], averages[3]);
  sink.Fill(24, [&](size_t k) { return 2 * rsi14[k] - 1; });
  sink.Fill(25, [&](size_t k) { return 2 * rsi5[k] - 1; });
  const Series highest = WindowMax(rsi14, 14), lowest = WindowMin(rsi14, 14);
  sink.Fill(28, [&](size_t k) {
    const double height = highest[k] - lowest[k];
    return RatioIsZero(height) ? 0 : 2 * (rsi14[k] - lowest[k]) / height - 1;
  });
}

void FillStochastic(const BarBlock& bars, FeatureSink& sink) {
  const Series high = WindowMax(bars.high, 14), low = WindowMin(bars.low, 14);
  const Series fast = Series::Of(13, bars.size(), [&](size_t k) {
    const double height = high[k] - low[k];
    return PriceIsZero(height, bars.close[k]) ? 0.5 : (bars.close[k] - low[k]) / height;
  });
  const Series slow = WindowMean(fast, 3), signal = WindowMean(slow, 3);
  sink.Fill(26, [&](size_t k) { return 2 * slow[k] - 1; });
  sink.Fill(27, [&](size_t k) { return 2 * signal[k] - 1; });
}

void FillCommodityChannel(const BarBlock& bars, FeatureSink& sink) {
  const Series typical = TypicalPrice(bars), mean = WindowMean(typical, 20);
  const Series deviation = WindowMeanAbsoluteDeviation(typical, mean, 20);
  sink.Fill(29, [&](size_t k) {
    return PriceIsZero(deviation[k], bars.close[k]) ? 0
                                                    : (typical[k] - mean[k]) / (3 * deviation[k]);
  });
}

void FillUltimateOscillator(const BarBlock& bars, FeatureSink& sink) {
  const auto close = bars.close;
  const Series true_range = TrueRange(bars);
  const Series pressure = Series::Of(
      1, bars.size(), [&](size_t k) { return close[k] - std::min(bars.low[k], close[k - 1]); });
  const auto share = [&](size_t n) {
    const Series pressures = WindowSum(pressure, n), ranges = WindowSum(true_range, n);
    return Series::Of(n, bars.size(), [&](size_t k) {
      return PriceIsZero(ranges[k], close[k]) ? 0.5 : pressures[k] / ranges[k];
    });
  };
  const Series q7 = share(7), q14 = share(14), q28 = share(28);
  sink.Fill(31, [&](size_t k) { return 2 * (4 * q7[k] + 2 * q14[k] + q28[k]) / 7 - 1; });
}

}  // namespace

void FillMomentumFeatures(const BarBlock& bars, Carry& carry, FeatureSink& sink) {
  FillRelativeStrength(bars, carry, sink);
  FillStochastic(bars, sink);
  FillCommodityChannel(bars, sink);
  FillUltimateOscillator(bars, sink);
}

}  // namespace vixen::market
