// SPDX-License-Identifier: Apache-2.0
#include "market/features/series.h"

namespace vixen::market {
namespace {

// The n values that end at k.
double MeanEndingAt(SeriesView x, size_t k, size_t n) {
  double sum = 0;
  for (size_t j = k + 1 - n; j <= k; ++j) sum += x[j];
  return sum / static_cast<double>(n);
}

// out[k] = step(out[k − 1], x[k], constants of the recursion) from the first index that all have a
// predecessor for; in a later block the values of the block before stand in the first kOverlap
// places.
template <size_t N, typename Step>
std::array<Series, N> Recur(const std::array<Recursion, N>& recursions, Carry& carry, Step step) {
  const size_t size = recursions[0].x.size();
  const auto make = [&]<size_t... I>(std::index_sequence<I...>) {
    return std::array<Series, N>{Series(carry.first() ? recursions[I].from : 0, size)...};
  };
  std::array<Series, N> out = make(std::make_index_sequence<N>());
  std::array<std::vector<double>*, N> kept;
  std::array<double, N> average, width;
  std::array<const double*, N> x;
  std::array<double*, N> to;
  size_t begin = 0;  // where all go on together
  for (size_t i = 0; i < N; ++i) {
    kept[i] = &carry.Next();
    x[i] = recursions[i].x.values.data();
    to[i] = out[i].data();
    width[i] = static_cast<double>(recursions[i].n);
    begin = std::max(begin, carry.first() ? std::min(recursions[i].from + 1, size) : kOverlap);
  }
  for (size_t i = 0; i < N; ++i) {
    size_t k = recursions[i].from + 1;
    if (!carry.first()) {
      for (k = 0; k < kOverlap; ++k) to[i][k] = (*kept[i])[k];
    } else if (recursions[i].from < size) {
      to[i][recursions[i].from] =
          MeanEndingAt(recursions[i].x, recursions[i].from, recursions[i].n);
    }
    for (; k < begin; ++k) to[i][k] = step(to[i][k - 1], x[i][k], width[i]);
    average[i] = begin == 0 ? 0 : to[i][begin - 1];
  }
  for (size_t k = begin; k < size; ++k) {
    for (size_t i = 0; i < N; ++i) to[i][k] = average[i] = step(average[i], x[i][k], width[i]);
  }
  for (size_t i = 0; i < N; ++i) {
    kept[i]->assign(to[i] + size - std::min(kOverlap, size), to[i] + size);
  }
  return out;
}

}  // namespace

template <size_t N>
std::array<Series, N> Emas(const std::array<Recursion, N>& recursions, Carry& carry) {
  return Recur(recursions, carry, [](double average, double value, double n) {
    return average + (value - average) * (2.0 / (n + 1));
  });
}

template <size_t N>
std::array<Series, N> Wilders(const std::array<Recursion, N>& recursions, Carry& carry) {
  return Recur(recursions, carry, [](double average, double value, double n) {
    return (average * (n - 1) + value) / n;
  });
}

template std::array<Series, 1> Emas(const std::array<Recursion, 1>&, Carry&);
template std::array<Series, 2> Emas(const std::array<Recursion, 2>&, Carry&);
template std::array<Series, 4> Emas(const std::array<Recursion, 4>&, Carry&);
template std::array<Series, 1> Wilders(const std::array<Recursion, 1>&, Carry&);
template std::array<Series, 4> Wilders(const std::array<Recursion, 4>&, Carry&);

}  // namespace vixen::market
