// SPDX-License-Identifier: Apache-2.0
#include "tests/market/example_bars.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace vixen::market {

void AppendBar(Bars& bars, int64_t timestamp, double open, double high, double low, double close,
               double volume, bool last) {
  bars.timestamp.push_back(timestamp);
  bars.open.push_back(open);
  bars.high.push_back(high);
  bars.low.push_back(low);
  bars.close.push_back(close);
  bars.volume.push_back(volume);
  bars.last.push_back(last ? 1 : 0);
}

Bars SineSeries(double price_factor) {
  constexpr int64_t kStart = 1'704'205'800'000'000'000;  // 2024-01-02T14:30Z
  Bars bars;
  double previous = 0;
  for (int i = 0; i < 80; ++i) {
    const double close = 100 + 5 * std::sin(i / 3.0) + 0.1 * i;
    const double open = i == 0 ? 100 : previous + 0.2 * (i % 5 - 2);
    const double high = std::max(open, close) + 0.5 + 0.25 * (i % 3);
    const double low = std::min(open, close) - 0.5 - 0.25 * (i % 4);
    AppendBar(bars, kStart + i * kMinute, open * price_factor, high * price_factor,
              low * price_factor, close * price_factor, 1000 + 100 * (i % 7), i == 79);
    previous = close;
  }
  return bars;
}

Bars RandomBars(uint64_t seed, int segments, int length) {
  std::mt19937_64 random(seed);
  const auto cents = [&](int most) {
    return static_cast<int>(random() % static_cast<uint64_t>(most + 1));
  };
  Bars bars;
  int64_t timestamp = 1'700'000'000'000'000'000;
  for (int segment = 0; segment < segments; ++segment) {
    int close = 10'000;
    for (int k = 0; k < length; ++k) {
      const int open = close + cents(4) - 2;
      close = std::max(500, open + cents(60) - 30);
      const int high = std::max(open, close) + cents(10), low = std::min(open, close) - cents(10);
      timestamp += kMinute * (1 + cents(1));
      AppendBar(bars, timestamp, open / 100.0, high / 100.0, low / 100.0, close / 100.0,
                cents(5000), k + 1 == length);
    }
  }
  return bars;
}

Bars Walk(int count, uint64_t seed, int64_t start) {
  Bars bars = RandomBars(seed, 1, count);
  for (int i = 0; i < count; ++i) bars.timestamp[i] = start + i * kMinute;
  return bars;
}

Bars Cut(const Bars& bars, size_t begin, size_t end) {
  const auto part = [&](const auto& column) {
    return std::decay_t<decltype(column)>(column.begin() + static_cast<std::ptrdiff_t>(begin),
                                          column.begin() + static_cast<std::ptrdiff_t>(end));
  };
  Bars cut;
  cut.timestamp = part(bars.timestamp);
  cut.open = part(bars.open);
  cut.high = part(bars.high);
  cut.low = part(bars.low);
  cut.close = part(bars.close);
  cut.volume = part(bars.volume);
  cut.last = part(bars.last);
  cut.last.back() = 1;
  cut.has_volume = bars.has_volume;
  return cut;
}

}  // namespace vixen::market
