// SPDX-License-Identifier: Apache-2.0
#include "market/features/windows.h"

#include <cstring>

namespace vixen::market {
namespace {

// Four neighbouring values in a register, or a single one: what a formula is written for.
typedef double Lanes __attribute__((vector_size(32)));
constexpr size_t kLanes = 4;
// Registers that one pass over a window fills: their additions overlap.
constexpr size_t kRegisters = 4;

template <typename Value>
Value Load(const double* from) {
  Value value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

double Magnitude(double x) { return x < 0 ? -x : x; }
Lanes Magnitude(Lanes x) { return x < 0 ? -x : x; }

// `Count` values of kWidth windows each, side by side, the first of which ends at k.
template <typename Value, size_t kWidth, size_t Count, typename Prepare, typename Term,
          typename Finish>
void WindowsAt(const double* x, double* out, size_t k, size_t n, Prepare prepare, Term term,
               Finish finish) {
  Value sum[Count], prepared[Count];
  for (size_t i = 0; i < Count; ++i) {
    sum[i] = Value{};
    prepared[i] = prepare.template operator()<Value>(k + i * kWidth);
  }
  for (size_t j = 0; j < n; ++j) {
#pragma GCC unroll 4
    for (size_t i = 0; i < Count; ++i) {
      sum[i] += term(Load<Value>(x + k + i * kWidth + 1 - n + j), prepared[i], j);
    }
  }
  for (size_t i = 0; i < Count; ++i) {
    const Value result = finish(sum[i]);
    std::memcpy(out + k + i * kWidth, &result, sizeof result);
  }
}

// out[k] = finish(Σ_j term(the j-th oldest value, prepare(k), j)).
template <typename Prepare, typename Term, typename Finish>
Series OverWindows(SeriesView x, size_t n, Prepare prepare, Term term, Finish finish) {
  Series out(x.from + n - 1, x.size());
  const double* values = x.values.data();
  size_t k = out.from();
  for (; k + kRegisters * kLanes <= out.size(); k += kRegisters * kLanes) {
    WindowsAt<Lanes, kLanes, kRegisters>(values, out.data(), k, n, prepare, term, finish);
  }
  for (; k < out.size(); ++k) {
    WindowsAt<double, 1, 1>(values, out.data(), k, n, prepare, term, finish);
  }
  return out;
}

constexpr auto kNothing = []<typename Value>(size_t) { return Value{}; };
constexpr auto kValue = [](auto value, auto, size_t) { return value; };

// What Load<Value>(series + k) gives.
auto At(const double* series) {
  return [series]<typename Value>(size_t k) { return Load<Value>(series + k); };
}

// Doubles the windows until the last step would overlap: max over n of max over the power of two.
template <typename Better>
Series ExtremeValue(SeriesView x, size_t n, Better better) {
  Series out(x.from + n - 1, x.size()), other(0, x.size());
  const double* from = x.values.data();
  double *to = out.data(), *spare = other.data();
  size_t length = 1;
  const auto widen = [&](size_t by) {
    const double* __restrict source = from;
    double* __restrict target = to;
    for (size_t k = x.from + length + by - 1; k < x.size(); ++k) {
      target[k] = better(source[k], source[k - by]) ? source[k] : source[k - by];
    }
    from = to;
    std::swap(to, spare);
    length += by;
  };
  while (2 * length <= n) widen(length);
  if (length < n) widen(n - length);
  if (from != out.data()) {
    std::copy(from + out.from(), from + out.size(), out.data() + out.from());
  }
  std::fill_n(out.data(), out.from(), std::nan(""));
  return out;
}

// Passes over the window from its oldest value to its newest: the latest that equals the extreme
// stays.
Series BarsSince(SeriesView x, const Series& extreme, size_t n) {
  Series out(extreme.from(), x.size());
  const double* __restrict values = x.values.data();
  const double* __restrict wanted = extreme.data();
  double* __restrict since = out.data();
  constexpr size_t kStep = 256;
  for (size_t begin = out.from(); begin < out.size(); begin += kStep) {
    const size_t end = std::min(begin + kStep, out.size());
    for (size_t j = n; j-- > 0;) {
      const double bars = static_cast<double>(j);
      for (size_t k = begin; k < end; ++k) {
        since[k] = values[k - j] == wanted[k] ? bars : since[k];
      }
    }
  }
  return out;
}

}  // namespace

Series WindowSum(SeriesView x, size_t n) {
  return OverWindows(x, n, kNothing, kValue, [](auto sum) { return sum; });
}

Series WindowMean(SeriesView x, size_t n) {
  return OverWindows(x, n, kNothing, kValue,
                     [width = static_cast<double>(n)](auto sum) { return sum / width; });
}

Series WindowDeviation(SeriesView x, const Series& mean, size_t n) {
  Series out = OverWindows(
      x, n, At(mean.data()),
      [](auto value, auto middle, size_t) {
        const auto difference = value - middle;
        return difference * difference;
      },
      [width = static_cast<double>(n)](auto sum) { return sum / width; });
  for (size_t k = out.from(); k < out.size(); ++k) out[k] = std::sqrt(out[k]);
  return out;
}

Series WindowMeanAbsoluteDeviation(SeriesView x, const Series& mean, size_t n) {
  return OverWindows(
      x, n, At(mean.data()),
      [](auto value, auto middle, size_t) { return Magnitude(value - middle); },
      [width = static_cast<double>(n)](auto sum) { return sum / width; });
}

Series WindowSlopeNumerator(SeriesView x, size_t n) {
  const double middle = static_cast<double>(n - 1) / 2;
  return OverWindows(
      x, n, At(x.values.data() + 1 - n),
      [middle](auto value, auto oldest, size_t j) {
        return (static_cast<double>(j) - middle) * (value - oldest);
      },
      [](auto sum) { return sum; });
}

Series WindowMax(SeriesView x, size_t n) {
  return ExtremeValue(x, n, [](double a, double b) { return a > b; });
}
Series WindowMin(SeriesView x, size_t n) {
  return ExtremeValue(x, n, [](double a, double b) { return a < b; });
}
Series BarsSinceMax(SeriesView x, size_t n) { return BarsSince(x, WindowMax(x, n), n); }
Series BarsSinceMin(SeriesView x, size_t n) { return BarsSince(x, WindowMin(x, n), n); }

}  // namespace vixen::market
