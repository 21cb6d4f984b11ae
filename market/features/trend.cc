// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "market/features/families.h"

namespace vixen::market {
namespace {

void FillMovingAverages(const BarBlock& bars, Carry& carry, FeatureSink& sink) {
  const auto close = bars.close;
  const Series ema12 = Ema(close, 12, carry), ema26 = Ema(close, 26, carry);
  sink.Fill(12, [&](size_t k) { return close[k] / ema12[k] - 1; });
  sink.Fill(13, [&](size_t k) { return close[k] / ema26[k] - 1; });
  const Series mean10 = WindowMean(close, 10), mean50 = WindowMean(close, 50);
  sink.Fill(14, [&](size_t k) { return close[k] / mean50[k] - 1; });
  sink.Fill(15, [&](size_t k) { return mean10[k] / mean50[k] - 1; });
}

// MACD(12, 26, 9). The fast average begins together with the slow one, at k = 25, with the mean of
// the twelve closes before it: it is not feature 12's average.
void FillMacd(const BarBlock& bars, Carry& carry, FeatureSink& sink) {
  constexpr size_t kFirst = 25;
  const auto close = bars.close;
  const Series fast = EmaFrom(close, kFirst, 12, carry);
  const Series slow = Ema(close, 26, carry);
  const Series macd = Series::Of(kFirst, bars.size(), [&](size_t k) { return fast[k] - slow[k]; });
  const Series signal = Ema(macd, 9, carry);
  sink.Fill(16, [&](size_t k) { return macd[k] / close[k]; });
  sink.Fill(17, [&](size_t k) { return (macd[k] - signal[k]) / close[k]; });
}

struct DirectionalMovement {
  double plus = 0;
  double minus = 0;
};

DirectionalMovement MovementAt(const BarBlock& bars, size_t k) {
  const double up = bars.high[k] - bars.high[k - 1];
  const double down = bars.low[k - 1] - bars.low[k];
  const auto exceeds = [close = bars.close[k]](double a, double b) {
    return a - b > 0 && !PriceIsZero(a - b, close);
  };
  return {exceeds(up, 0) && exceeds(up, down) ? up : 0,
          exceeds(down, 0) && exceeds(down, up) ? down : 0};
}

// Directional movement of 14 bars: plain sums over k = 1 … 13, then S ← S − S/14 + new.
void FillDirectionalMovement(const BarBlock& bars, Carry& carry, FeatureSink& sink) {
  constexpr size_t kWidth = 14;
  const Series true_range = TrueRange(bars);
  Series difference(kWidth, bars.size()), index(kWidth, bars.size());
  std::vector<double>& kept = carry.Next();
  if (carry.first()) kept.assign(3, 0.0);
  double plus = kept[0], minus = kept[1], range = kept[2];
  for (size_t k = carry.first() ? 1 : kOverlap; k < bars.size(); ++k) {
    const DirectionalMovement movement = MovementAt(bars, k);
    if (k >= kWidth) {
      plus -= plus / kWidth;
      minus -= minus / kWidth;
      range -= range / kWidth;
    }
    plus += movement.plus;
    minus += movement.minus;
    range += true_range[k];
    if (k < kWidth) continue;
    const bool still = PriceIsZero(range, bars.close[k]);
    const double p = still ? 0 : plus / range, m = still ? 0 : minus / range;
    difference[k] = p - m;
    index[k] = RatioIsZero(p + m) ? 0 : std::abs(p - m) / (p + m);
  }
  kept = {plus, minus, range};
  const Series average = Wilder(index, kWidth, carry);
  sink.Fill(19, [&](size_t k) { return average[k]; });
  sink.Fill(20, [&](size_t k) { return difference[k]; });
}

void FillChannels(const BarBlock& bars, FeatureSink& sink) {
  const auto close = bars.close;
  const Series high60 = WindowMax(bars.high, 60);
  sink.Fill(18, [&](size_t k) { return close[k] / high60[k] - 1; });
  const Series since_low = BarsSinceMin(bars.low, 15), since_high = BarsSinceMax(bars.high, 15);
  sink.Fill(21, [&](size_t k) { return (since_low[k] - since_high[k]) / 14; });
  const Series high20 = WindowMax(bars.high, 20), low20 = WindowMin(bars.low, 20);
  sink.Fill(47, [&](size_t k) {
    const double height = high20[k] - low20[k];
    return PriceIsZero(height, close[k]) ? 0 : (2 * close[k] - high20[k] - low20[k]) / height;
  });
}

void FillSlopes(const BarBlock& bars, Carry& carry, FeatureSink& sink) {
  const auto close = bars.close;
  const Series numerator = WindowSlopeNumerator(close, 14);
  sink.Fill(22, [&](size_t k) { return numerator[k] / 227.5 / close[k]; });
  const Series triple = Ema(Ema(Ema(close, 15, carry), 15, carry), 15, carry);
  sink.Fill(23, [&](size_t k) { return 100 * (triple[k] / triple[k - 1] - 1); });
  const Series path = WindowSum(
      Series::Of(1, bars.size(), [&](size_t k) { return std::abs(close[k] - close[k - 1]); }), 10);
  sink.Fill(48, [&](size_t k) {
    return PriceIsZero(path[k], close[k]) ? 0 : (close[k] - close[k - 10]) / path[k];
  });
}

}  // namespace

void FillTrendFeatures(const BarBlock& bars, Carry& carry, FeatureSink& sink) {
  FillMovingAverages(bars, carry, sink);
  FillMacd(bars, carry, sink);
  FillChannels(bars, sink);
  FillDirectionalMovement(bars, carry, sink);
  FillSlopes(bars, carry, sink);
}

}  // namespace vixen::market
