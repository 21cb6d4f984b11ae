// SPDX-License-Identifier: Apache-2.0
// The building blocks of the feature formulas: series that know where they begin, windows over them
// and the two recursive averages. All float64; formulas: docs/features.md.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
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
  std::vector<std::vector<double>> kept_;
  size_t next_ = 0;
  bool first_ = true;
};

// Borrowed values [0, size) of which those before `from` mean nothing.
struct SeriesView {
  size_t from = 0;
  std::span<const double> values;

  SeriesView(std::span<const double> all) : values(all) {}
  SeriesView(size_t first, std::span<const double> all) : from(first), values(all) {}
  size_t size() const { return values.size(); }
  double operator[](size_t k) const { return values[k]; }
};

// An owned series. Values before `from` are NaN, so that a formula that reads one too early shows.
class Series {
 public:
  Series(size_t from, size_t size) : from_(from), values_(size, std::nan("")) {}

  // values[k] = formula(k) for k ≥ from.
  template <typename Formula>
  static Series Of(size_t from, size_t size, Formula formula) {
    Series series(from, size);
    for (size_t k = from; k < size; ++k) series.values_[k] = formula(k);
    return series;
  }

  operator SeriesView() const { return {from_, values_}; }
  size_t from() const { return from_; }
  size_t size() const { return values_.size(); }
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

// Windows of the last n values, the current one included; results begin at x.from + n − 1. Each
// window is summed afresh from its oldest to its newest value: a running sum would lose digits and
// make a row depend on how much history came before its window. O(size · n), vectorised across
// bars.
Series WindowSum(SeriesView x, size_t n);
Series WindowMean(SeriesView x, size_t n);
// Population deviation around `mean` (= WindowMean(x, n)), two passes, before the zero rule.
Series WindowDeviation(SeriesView x, const Series& mean, size_t n);
// Mean of |x_j − mean| over the window.
Series WindowMeanAbsoluteDeviation(SeriesView x, const Series& mean, size_t n);
// Σ (j − (n−1)/2)·(x_j − x_oldest), j = 0 (oldest) … n−1: the numerator of a least-squares slope.
Series WindowSlopeNumerator(SeriesView x, size_t n);
Series WindowMax(SeriesView x, size_t n);
Series WindowMin(SeriesView x, size_t n);
// Bars since the window's largest (smallest) value; the latest one wins a tie.
Series BarsSinceMax(SeriesView x, size_t n);
Series BarsSinceMin(SeriesView x, size_t n);

// Both begin with the mean of the first n values at the n-th, then e ← e + (x − e)·(2/(n+1)) and
// w ← (w·(n−1) + x)/n. In a later block they go on from the values that `carry` holds.
Series Ema(SeriesView x, size_t n, Carry& carry);
Series Wilder(SeriesView x, size_t n, Carry& carry);
// Ema whose first value, the mean of the n values that end there, stands at index `from` of the
// first block.
Series EmaFrom(SeriesView x, size_t from, size_t n, Carry& carry);

}  // namespace vixen::market
