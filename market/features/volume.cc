// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "market/features/families.h"

namespace vixen::market {
namespace {

constexpr size_t kWidth = 20;

void FillVolumeLevel(const BarBlock& bars, FeatureSink& sink) {
  const auto volume = bars.volume;
  const Series mean = WindowMean(volume, kWidth), deviation = WindowDeviation(volume, mean, kWidth);
  const Series largest = WindowMax(volume, kWidth);
  sink.Fill(41, [&](size_t k) { return std::log((volume[k] + 1) / (mean[k] + 1)); });
  sink.Fill(42, [&](size_t k) {
    return deviation[k] <= kZero * largest[k] ? 0 : (volume[k] - mean[k]) / deviation[k];
  });
}

// Volumes are not negative, so their sum is ≈0 only when it is 0.
void FillVolumeWeighted(const BarBlock& bars, FeatureSink& sink) {
  const auto close = bars.close, volume = bars.volume;
  const Series total = WindowSum(volume, kWidth);
  const Series signed_volume =
      WindowSum(Series::Of(1, bars.size(),
                           [&](size_t k) {
                             if (close[k] == close[k - 1]) return 0.0;
                             return close[k] > close[k - 1] ? volume[k] : -volume[k];
                           }),
                kWidth);
  sink.Fill(43, [&](size_t k) { return total[k] == 0 ? 0 : signed_volume[k] / total[k]; });

  const Series location = CloseLocationValue(bars);
  const Series located = WindowSum(
      Series::Of(0, bars.size(), [&](size_t k) { return location[k] * volume[k]; }), kWidth);
  sink.Fill(44, [&](size_t k) { return total[k] == 0 ? 0 : located[k] / total[k]; });

  const Series typical = TypicalPrice(bars), typical_mean = WindowMean(typical, kWidth);
  const Series money = WindowSum(
      Series::Of(0, bars.size(), [&](size_t k) { return typical[k] * volume[k]; }), kWidth);
  sink.Fill(45, [&](size_t k) {
    const double average = total[k] == 0 ? typical_mean[k] : money[k] / total[k];
    return close[k] / average - 1;
  });
}

void FillIlliquidity(const BarBlock& bars, FeatureSink& sink) {
  const Series returns = LogReturn(bars);
  const Series illiquidity = WindowMean(
      Series::Of(1, bars.size(),
                 [&](size_t k) {
                   return std::abs(returns[k]) / (bars.close[k] * std::max(bars.volume[k], 1.0));
                 }),
      kWidth);
  sink.Fill(46, [&](size_t k) { return std::log(1e-15 + illiquidity[k]); });
}

}  // namespace

void FillVolumeFeatures(const BarBlock& bars, FeatureSink& sink) {
  if (!bars.has_volume) {
    for (int column = 41; column <= 46; ++column) sink.Fill(column, [](size_t) { return 0.0; });
    return;
  }
  FillVolumeLevel(bars, sink);
  FillVolumeWeighted(bars, sink);
  FillIlliquidity(bars, sink);
}

}  // namespace vixen::market
