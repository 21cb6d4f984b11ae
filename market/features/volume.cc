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
  sink.FillLog(41, [&](size_t k) { return (volume[k] + 1) / (mean[k] + 1); });
  sink.Fill(42, [&](size_t k) {
    return deviation[k] <= kZero * largest[k] ? 0 : (volume[k] - mean[k]) / deviation[k];
  });
}

// Volumes are not negative, so their sum is ≈0 only when it is 0.
void FillVolumeWeighted(const BarBlock& bars, const Series& typical, FeatureSink& sink) {
  const auto close = bars.close, volume = bars.volume;
  const Series total = WindowSum(volume, kWidth);
  const Series signed_volume =
      WindowSum(Series::Of(1, bars.size(),
                           [&](size_t k) {
                             const double risen = close[k] > close[k - 1] ? volume[k] : -volume[k];
                             return close[k] == close[k - 1] ? 0.0 : risen;
                           }),
                kWidth);
  sink.Fill(43, [&](size_t k) { return total[k] == 0 ? 0 : signed_volume[k] / total[k]; });

  const Series location = CloseLocationValue(bars);
  const Series located = WindowSum(
      Series::Of(0, bars.size(), [&](size_t k) { return location[k] * volume[k]; }), kWidth);
  sink.Fill(44, [&](size_t k) { return total[k] == 0 ? 0 : located[k] / total[k]; });

  const Series typical_mean = WindowMean(typical, kWidth);
  const Series money = WindowSum(
      Series::Of(0, bars.size(), [&](size_t k) { return typical[k] * volume[k]; }), kWidth);
  sink.Fill(45, [&](size_t k) {
    const double average = total[k] == 0 ? typical_mean[k] : money[k] / total[k];
    return close[k] / average - 1;
  });
}

// Money that flowed with rising and with falling typical prices.
void FillMoneyFlow(const BarBlock& bars, const Series& typical, FeatureSink& sink) {
  const auto close = bars.close, volume = bars.volume;
  // Typical price × volume when the typical price moved into `direction`, else 0.
  const auto flow = [&](double direction) {
    return WindowSum(Series::Of(1, bars.size(),
                                [&, direction](size_t k) {
                                  const double move = typical[k] - typical[k - 1];
                                  const bool counts =
                                      move * direction > 0 && !PriceIsZero(move, close[k]);
                                  return counts ? typical[k] * volume[k] : 0.0;
                                }),
                     14);
  };
  const Series in = flow(1), out = flow(-1);
  sink.Fill(30, [&](size_t k) {
    const double both = in[k] + out[k];
    return both == 0 ? 0 : (in[k] - out[k]) / both;
  });
}

}  // namespace

void FillVolumeFeatures(const BarBlock& bars, FeatureSink& sink) {
  if (!bars.has_volume) {
    for (const size_t column : {30, 41, 42, 43, 44, 45}) {
      sink.Fill(column, [](size_t) { return 0.0; });
    }
    return;
  }
  const Series typical = TypicalPrice(bars);
  FillMoneyFlow(bars, typical, sink);
  FillVolumeLevel(bars, sink);
  FillVolumeWeighted(bars, typical, sink);
}

}  // namespace vixen::market
