// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "market/features/families.h"

namespace vixen::market {
namespace {

// The four averages of the close. MACD(12, 26, 9): its fast average begins together with the slow
// one, at k = 25, with the mean of the twelve closes before it: it is not feature 12's average.
struct CloseAverages {
  static constexpr size_t kMacdFrom = 25;
  std::array<Series, 4> of;

  CloseAverages(SeriesView close, Carry& carry)
      : of(Emas<4>(
            {Average(close, 12), Average(close, 26), {close, kMacdFrom, 12}, Average(close, 15)},
            carry)) {}
  const Series& ema12() const { return of[0]; }
  const Series& ema26() const { return of[1]; }
  const Series& macd_fast() const { return of[2]; }
  const Series& ema15() const { return of[3]; }
};

void FillMovingAverages(const BarBlock& bars, const CloseAverages& averages, FeatureSink& sink) {
  const auto close = bars.close;
  const Series &ema12 = averages.ema12(), &ema26 = averages.ema26();
  sink.Fill(12, [&](size_t k) { return close[k] / ema12[k] - 1; });
  sink.Fill(13, [&](size_t k) { return close[k] / ema26[k] - 1; });
  const Series mean10 = WindowMean(close, 10), mean50 = WindowMean(close, 50);
  sink.Fill(14, [&](size_t k) { return close[k] / mean50[k] - 1; });
  sink.Fill(15, [&](size_t k) { return mean10[k] / mean50[k] - 1; });
}

// MACD with its signal, and the second and third average of TRIX.
void FillAveragesOfAverages(const BarBlock& bars, const CloseAverages& averages, Carry& carry,
                            FeatureSink& sink) {
  const auto close = bars.close;
  const Series &fast = averages.macd_fast(), &slow = averages.ema26();
  const Series macd = Series::Of(CloseAverages::kMacdFrom, bars.size(),
                                 [&](size_t k) { return fast[k] - slow[k]; });
  const auto second = Emas<2>({Average(macd, 9), Average(averages.ema15(), 15)}, carry);
  const Series& signal = second[0];
  sink.Fill(16, [&](size_t k) { return macd[k] / close[k]; });
  sink.Fill(17, [&](size_t k) { return (macd[k] - signal[k]) / close[k]; });
  const Series triple = Ema(second[1], 15, carry);
  sink.Fill(23, [&](size_t k) { return 100 * (triple[k] / triple[k - 1] - 1); });
}

// The movement of one side that counts: `side` if it is above 0 and above `other`, by more than
// rounding, else 0.
double Counted(double side, double other, double close) {
  const double lead = side - other;
  const bool counts =
      side > 0 && !PriceIsZero(side, close) && lead > 0 && !PriceIsZero(lead, close);
  return counts ? side : 0;
}

// Directional movement of 14 bars: plain sums over k = 1 … 13, then S ← S − S/14 + new.
void FillDirectionalMovement(const BarBlock& bars, Carry& carry, FeatureSink& sink) {
  constexpr size_t kWidth = 14;
  const auto high = bars.high, low = bars.low, close = bars.close;
  const size_t size = bars.size();
  const Series true_range = TrueRange(bars);
  const Series up = Series::Of(1, size, [&](size_t k) {
    return Counted(high[k] - high[k - 1], low[k - 1] - low[k], close[k]);
  });
  const Series down = Series::Of(1, size, [&](size_t k) {
    return Counted(low[k - 1] - low[k], high[k] - high[k - 1], close[k]);
  });
  Series plus(kWidth, size), minus(kWidth, size), range(kWidth, size);
  std::vector<double>& kept = carry.Next();
  if (carry.first()) kept.assign(3, 0.0);
  std::array<double, 3> sums = {kept[0], kept[1], kept[2]};
  size_t k = carry.first() ? 1 : kOverlap;
  for (; k < std::min(kWidth, size); ++k) {
    sums = {sums[0] + up[k], sums[1] + down[k], sums[2] + true_range[k]};
  }
  for (; k < size; ++k) {
    plus[k] = sums[0] = sums[0] - sums[0] / kWidth + up[k];
    minus[k] = sums[1] = sums[1] - sums[1] / kWidth + down[k];
    range[k] = sums[2] = sums[2] - sums[2] / kWidth + true_range[k];
  }
  kept.assign(sums.begin(), sums.end());
  // What a later block repeats of its overlap is not summed again, and nothing reads it.
  const size_t from = carry.first() ? kWidth : kOverlap;
  const auto share = [&](const Series& of, size_t bar) {
    const double value = of[bar] / range[bar];
    return PriceIsZero(range[bar], close[bar]) ? 0 : value;
  };
  const Series difference =
      Series::Of(from, size, [&](size_t bar) { return share(plus, bar) - share(minus, bar); });
  const Series index = Series::Of(from, size, [&](size_t bar) {
    const double both = share(plus, bar) + share(minus, bar);
    const double value = std::abs(difference[bar]) / both;
    return RatioIsZero(both) ? 0 : value;
  });
  const Series average = std::move(Wilders<1>({{{index, kWidth + kWidth - 1, kWidth}}}, carry)[0]);
  sink.Fill(19, [&](size_t bar) { return average[bar]; });
  sink.Fill(20, [&](size_t bar) { return difference[bar]; });
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

void FillSlopes(const BarBlock& bars, FeatureSink& sink) {
  const auto close = bars.close;
  const Series numerator = WindowSlopeNumerator(close, 14);
  sink.Fill(22, [&](size_t k) { return numerator[k] / 227.5 / close[k]; });
  const Series path = WindowSum(
      Series::Of(1, bars.size(), [&](size_t k) { return std::abs(close[k] - close[k - 1]); }), 10);
  sink.Fill(48, [&](size_t k) {
    return PriceIsZero(path[k], close[k]) ? 0 : (close[k] - close[k - 10]) / path[k];
  });
}

}  // namespace

void FillTrendFeatures(const BarBlock& bars, Carry& carry, FeatureSink& sink) {
  const CloseAverages averages(bars.close, carry);
  FillMovingAverages(bars, averages, sink);
  FillAveragesOfAverages(bars, averages, carry, sink);
  FillChannels(bars, sink);
  FillDirectionalMovement(bars, carry, sink);
  FillSlopes(bars, sink);
}

}  // namespace vixen::market
