// SPDX-License-Identifier: Apache-2.0
#include "market/features/series.h"

#include <algorithm>

namespace vixen::market {
namespace {

// Bars whose windows are summed side by side; the partial sums stay in the first-level cache.
constexpr size_t kBlock = 512;

// out[k] = finish(Σ_j term(k, place of the j-th oldest value, j), k).
template <typename Term, typename Finish>
Series OverWindows(SeriesView x, size_t n, Term term, Finish finish) {
  Series out(x.from + n - 1, x.size());
  double sums[kBlock];
  for (size_t begin = out.from(); begin < out.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, out.size() - begin);
    std::fill_n(sums, count, 0.0);
    for (size_t j = 0; j < n; ++j) {
      for (size_t i = 0; i < count; ++i) sums[i] += term(begin + i, begin + i + 1 - n + j, j);
    }
    for (size_t i = 0; i < count; ++i) out[begin + i] = finish(sums[i], begin + i);
  }
  return out;
}

// Calls emit(k, place) with the place of the window's extreme value; `beats(a, b)`: a is at least
// as extreme as b. A queue of candidates, each more extreme than all after it: O(size).
template <typename Beats, typename Emit>
void SlideExtreme(SeriesView x, size_t n, Beats beats, Emit emit) {
  std::vector<size_t> candidates(x.size());
  size_t head = 0, tail = 0;
  for (size_t k = x.from; k < x.size(); ++k) {
    while (tail > head && beats(x[k], x[candidates[tail - 1]])) --tail;
    candidates[tail++] = k;
    if (candidates[head] + n <= k) ++head;
    if (k + 1 >= x.from + n) emit(k, candidates[head]);
  }
}

constexpr auto kAtLeast = [](double a, double b) { return a >= b; };
constexpr auto kAtMost = [](double a, double b) { return a <= b; };

template <typename Beats>
Series ExtremeValue(SeriesView x, size_t n, Beats beats) {
  Series out(x.from + n - 1, x.size());
  SlideExtreme(x, n, beats, [&](size_t k, size_t place) { out[k] = x[place]; });
  return out;
}

template <typename Beats>
Series BarsSinceExtreme(SeriesView x, size_t n, Beats beats) {
  Series out(x.from + n - 1, x.size());
  SlideExtreme(x, n, beats,
               [&](size_t k, size_t place) { out[k] = static_cast<double>(k - place); });
  return out;
}

// The n values that end at k.
double MeanEndingAt(SeriesView x, size_t k, size_t n) {
  double sum = 0;
  for (size_t j = k + 1 - n; j <= k; ++j) sum += x[j];
  return sum / static_cast<double>(n);
}

// out[from] = mean of the n values that end there, out[k] = step(out[k − 1], x[k]); in a later
// block the values of the block before stand in its first kOverlap places.
template <typename Step>
Series Recursion(SeriesView x, size_t from, size_t n, Carry& carry, Step step) {
  std::vector<double>& kept = carry.Next();
  Series out(carry.first() ? from : 0, x.size());
  size_t k = from + 1;
  if (carry.first()) {
    out[from] = MeanEndingAt(x, from, n);
  } else {
    for (k = 0; k < kOverlap; ++k) out[k] = kept[k];
  }
  for (double average = out[k - 1]; k < x.size(); ++k) out[k] = average = step(average, x[k]);
  kept.clear();
  for (size_t i = x.size() - std::min(kOverlap, x.size()); i < x.size(); ++i)
    kept.push_back(out[i]);
  return out;
}

}  // namespace

Series WindowSum(SeriesView x, size_t n) {
  const double* values = x.values.data();
  return OverWindows(
      x, n, [values](size_t, size_t place, size_t) { return values[place]; },
      [](double sum, size_t) { return sum; });
}

Series WindowMean(SeriesView x, size_t n) {
  const double* values = x.values.data();
  return OverWindows(
      x, n, [values](size_t, size_t place, size_t) { return values[place]; },
      [n](double sum, size_t) { return sum / static_cast<double>(n); });
}

Series WindowDeviation(SeriesView x, const Series& mean, size_t n) {
  const double* values = x.values.data();
  const double* means = &static_cast<SeriesView>(mean).values[0];
  return OverWindows(
      x, n,
      [values, means](size_t k, size_t place, size_t) {
        const double difference = values[place] - means[k];
        return difference * difference;
      },
      [n](double sum, size_t) { return std::sqrt(sum / static_cast<double>(n)); });
}

Series WindowMeanAbsoluteDeviation(SeriesView x, const Series& mean, size_t n) {
  const double* values = x.values.data();
  const double* means = &static_cast<SeriesView>(mean).values[0];
  return OverWindows(
      x, n,
      [values, means](size_t k, size_t place, size_t) {
        return std::abs(values[place] - means[k]);
      },
      [n](double sum, size_t) { return sum / static_cast<double>(n); });
}

Series WindowSlopeNumerator(SeriesView x, size_t n) {
  const double* values = x.values.data();
  const double middle = static_cast<double>(n - 1) / 2;
  return OverWindows(
      x, n,
      [values, middle](size_t, size_t place, size_t j) {
        return (static_cast<double>(j) - middle) * (values[place] - values[place - j]);
      },
      [](double sum, size_t) { return sum; });
}

Series WindowMax(SeriesView x, size_t n) { return ExtremeValue(x, n, kAtLeast); }
Series WindowMin(SeriesView x, size_t n) { return ExtremeValue(x, n, kAtMost); }
Series BarsSinceMax(SeriesView x, size_t n) { return BarsSinceExtreme(x, n, kAtLeast); }
Series BarsSinceMin(SeriesView x, size_t n) { return BarsSinceExtreme(x, n, kAtMost); }

Series EmaFrom(SeriesView x, size_t from, size_t n, Carry& carry) {
  const double factor = 2.0 / static_cast<double>(n + 1);
  return Recursion(x, from, n, carry, [factor](double average, double value) {
    return average + (value - average) * factor;
  });
}

Series Ema(SeriesView x, size_t n, Carry& carry) { return EmaFrom(x, x.from + n - 1, n, carry); }

Series Wilder(SeriesView x, size_t n, Carry& carry) {
  const double width = static_cast<double>(n);
  return Recursion(x, x.from + n - 1, n, carry, [width](double average, double value) {
    return (average * (width - 1) + value) / width;
  });
}

}  // namespace vixen::market
