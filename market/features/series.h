// SPDX-License-Identifier: Apache-2.0
// The building blocks of the feature formulas: series that know where they begin and the recursive
// averages; windows: windows.h. All float64; formulas: docs/features.md.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

namespace vixen::market {

// Bars of one segment that follow one another, borrowed. The first block begins at the segment's
// first bar, every later one kOverlap bars before the first bar that is new: no window of any
// formula reaches further back. What does (recursive averages) is carried from block to block.
struct BarBlock {
  std::span<const int64_t> timestamp;
  std::span<const double> open, high, low, close, volume;
  bool has_volume = true;

  size_t size() const { return close.size(); }
};

// More than the bars that any chain of windows looks back (rv60: 60).
inline constexpr size_t kOverlap = 64;

// The recursions of one segment between two of its blocks. They are told apart by the order in
// which the formulas ask for them, which is the same in each block. Results do not depend on where
// the blocks end.
class Carry {
 public:
  // Before the formulas of a block run.
  void StartBlock(bool first) {
    first_ = first;
    next_ = 0;
  }
  bool first() const { return first_; }
  // The values that the next recursion left behind in the block before; empty in the first one.
  std::vector<double>& Next() {
    if (next_ == kept_.size()) kept_.emplace_back();
    return kept_[next_++];
  }

 private:
  std::deque<std::vector<double>> kept_;  // references stay valid
  size_t next_ = 0;
  bool first_ = true;
};

// Borrowed values [0, size) of which those before `from` mean nothing.
struct SeriesView {
  size_t from = 0;
  std::span<const double> values;

  SeriesView() = default;
  SeriesView(std::span<const double> all) : values(all) {}
  SeriesView(size_t first, std::span<const double> all) : from(first), values(all) {}
  size_t size() const { return values.size(); }
  double operator[](size_t k) const { return values[k]; }
};

// An owned series. Values before `from` are NaN, so that a formula that reads one too early shows.
class Series {
 public:
  Series(size_t from, size_t size) : from_(std::min(from, size)), values_(size) {
    std::fill_n(values_.begin(), from_, std::nan(""));
  }

  // values[k] = formula(k) for k ≥ from. A formula without branches is vectorised.
  template <typename Formula>
  static Series Of(size_t from, size_t size, Formula formula) {
    Series series(from, size);
    double* __restrict out = series.data();
    for (size_t k = from; k < size; ++k) out[k] = formula(k);
    return series;
  }

  operator SeriesView() const { return {from_, values_}; }
  size_t from() const { return from_; }
  size_t size() const { return values_.size(); }
  const double* data() const { return values_.data(); }
  double* data() { return values_.data(); }
  double operator[](size_t k) const { return values_[k]; }
  double& operator[](size_t k) { return values_[k]; }

 private:
  size_t from_;
  std::vector<double> values_;
};

// The zero rule: below these sizes a difference is rounding, not market.
inline constexpr double kZero = 1e-12;
inline bool PriceIsZero(double value, double close) { return std::abs(value) <= kZero * close; }
inline bool RatioIsZero(double value) { return std::abs(value) <= kZero; }

// One recursive average of `x`: its first value, the mean of the n values that end there, stands at
// index `from` of the segment's first block.
struct Recursion {
  SeriesView x;
  size_t from = 0, n = 1;
};

// Those whose first value stands at the n-th of x.
inline Recursion Average(SeriesView x, size_t n) { return {x, x.from + n - 1, n}; }

// e ← e + (x − e)·(2/(n+1)). In a later block they go on from the values that `carry` holds. Those
// of one call advance side by side: a step waits for the one before, not for its neighbours.
template <size_t N>
std::array<Series, N> Emas(const std::array<Recursion, N>& recursions, Carry& carry);
// w ← (w·(n−1) + x)/n.
template <size_t N>
std::array<Series, N> Wilders(const std::array<Recursion, N>& recursions, Carry& carry);

inline Series Ema(SeriesView x, size_t n, Carry& carry) {
  return std::move(Emas<1>({Average(x, n)}, carry)[0]);
}
inline Series Wilder(SeriesView x, size_t n, Carry& carry) {
  return std::move(Wilders<1>({Average(x, n)}, carry)[0]);
}

}  // namespace vixen::market
