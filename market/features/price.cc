// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "market/features/families.h"

namespace vixen::market {
namespace {

constexpr int64_t kNanosecondsPerMinute = 60'000'000'000;
constexpr int64_t kMinutesPerDay = 1440;

double DayAngle(int64_t minute) {
  return 2 * std::numbers::pi * static_cast<double>(minute) / static_cast<double>(kMinutesPerDay);
}

// Floors, so that times before 1970 fall into the right minute as well.
size_t MinuteOfDay(int64_t timestamp) {
  int64_t minute = timestamp / kNanosecondsPerMinute;
  if (timestamp % kNanosecondsPerMinute < 0) --minute;
  return static_cast<size_t>((minute % kMinutesPerDay + kMinutesPerDay) % kMinutesPerDay);
}

using DayTable = std::array<double, kMinutesPerDay>;

DayTable TableOf(double (*function)(double)) {
  DayTable table;
  for (int64_t minute = 0; minute < kMinutesPerDay; ++minute) {
    table[static_cast<size_t>(minute)] = function(DayAngle(minute));
  }
  return table;
}

void FillTimeOfDay(const BarBlock& bars, FeatureSink& sink) {
  static const DayTable sine = TableOf(std::sin), cosine = TableOf(std::cos);
  sink.Fill(49, [&](size_t k) { return sine[MinuteOfDay(bars.timestamp[k])]; });
  sink.Fill(50, [&](size_t k) { return cosine[MinuteOfDay(bars.timestamp[k])]; });
}

}  // namespace

Series TypicalPrice(const BarBlock& bars) {
  return Series::Of(0, bars.size(),
                    [&](size_t k) { return (bars.high[k] + bars.low[k] + bars.close[k]) / 3; });
}

Series TrueRange(const BarBlock& bars) {
  return Series::Of(1, bars.size(), [&](size_t k) {
    return std::max(bars.high[k], bars.close[k - 1]) - std::min(bars.low[k], bars.close[k - 1]);
  });
}

Series CloseLocationValue(const BarBlock& bars) {
  return Series::Of(0, bars.size(), [&](size_t k) {
    const double height = bars.high[k] - bars.low[k];
    if (PriceIsZero(height, bars.close[k])) return 0.0;
    return (2 * bars.close[k] - bars.high[k] - bars.low[k]) / height;
  });
}

void FillPriceFeatures(const BarBlock& bars, FeatureSink& sink) {
  const auto open = bars.open, high = bars.high, low = bars.low, close = bars.close;
  constexpr size_t kHorizons[] = {5, 15, 30, 60};
  for (size_t i = 0; i < 4; ++i) {
    const size_t n = kHorizons[i];
    sink.FillLog(1 + i, [=](size_t k) { return close[k] / close[k - n]; });
  }
  sink.FillLog(5, [=](size_t k) { return open[k] / close[k - 1]; });
  const Series location = CloseLocationValue(bars);
  sink.Fill(8, [&](size_t k) { return location[k]; });
  const auto share_of_height = [=](size_t k, double part) {
    const double height = high[k] - low[k];
    return PriceIsZero(height, close[k]) ? 0.0 : part / height;
  };
  sink.Fill(9, [=](size_t k) { return share_of_height(k, high[k] - std::max(open[k], close[k])); });
  sink.Fill(10, [=](size_t k) { return share_of_height(k, std::min(open[k], close[k]) - low[k]); });
  sink.Fill(11, [=](size_t k) { return share_of_height(k, close[k] - open[k]); });
  FillTimeOfDay(bars, sink);
}

}  // namespace vixen::market
