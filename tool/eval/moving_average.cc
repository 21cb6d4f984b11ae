// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/moving_average.h"

#include <algorithm>

namespace vixen::tool {
namespace {

constexpr int kMarketNormal = 1;
constexpr int kLong = 4 * kernels::kStyles + kMarketNormal;
constexpr int kFlat = 2 * kernels::kStyles + kMarketNormal;

}  // namespace

std::vector<uint8_t> MovingAverageSignal(const MovingAverageRule& rule,
                                         const market::Dataset& dataset, uint64_t begin,
                                         uint64_t end) {
  uint64_t first = begin;  // of the closes that can matter
  while (first > 0 && !dataset.last()[first - 1] && begin - first < rule.slow) --first;
  const auto close = [&](uint64_t bar) { return double{dataset.targets()[4 * bar]}; };
  std::vector<uint8_t> signal(end - begin);
  double fast = 0, slow = 0;
  uint64_t count = 0;  // bars of the segment so far
  for (uint64_t bar = first; bar < end; ++bar) {
    if (bar > first && dataset.last()[bar - 1]) {
      fast = slow = 0;
      count = 0;
    }
    fast += close(bar);
    slow += close(bar);
    ++count;
    if (count > rule.fast) fast -= close(bar - rule.fast);
    if (count > rule.slow) slow -= close(bar - rule.slow);
    // The closes are float32 and the sums double: a difference of rounding is no signal.
    const double difference =
        fast / static_cast<double>(rule.fast) - slow / static_cast<double>(rule.slow);
    if (bar >= begin) {
      signal[bar - begin] = count >= rule.slow && difference > 1e-12 * close(bar);
    }
  }
  return signal;
}

BookRun RunMovingAverage(const MovingAverageRule& rule, const kernels::Rules& rules,
                         const market::Dataset& dataset, std::span<const EvaluationPart> parts) {
  if (parts.empty()) return {};
  const uint64_t begin = parts.front().begin;
  const std::vector<uint8_t> signal = MovingAverageSignal(rule, dataset, begin, parts.back().end);
  return RunRule(rules, dataset, parts, [&](uint64_t bar, uint64_t /*step*/) {
    return signal[bar - begin] != 0 ? kLong : kFlat;
  });
}

}  // namespace vixen::tool
