// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/env/rules.h"
#include "market/dataset.h"
#include "tool/eval/book_run.h"

namespace vixen::tool {

// The moving-average rule as a benchmark (the variable-length rule of Brock, Lakonishok and
// LeBaron, Journal of Finance 47 (1992), without short sales): long while the mean of the last
// `fast` closes is above that of the last `slow` ones, else flat.
struct MovingAverageRule {
  uint64_t fast = 50;
  uint64_t slow = 200;
};

// Whether the rule is long after the close of each bar in [begin, end): the closes up to and with
// that bar, of its own segment only, also from before `begin`. Flat until `slow` closes are there.
// O(bars + slow).
std::vector<uint8_t> MovingAverageSignal(const MovingAverageRule& rule,
                                         const market::Dataset& dataset, uint64_t begin,
                                         uint64_t end);

// Trades it by the environment's rules (reserve, band, costs), plain market orders.
BookRun RunMovingAverage(const MovingAverageRule& rule, const kernels::Rules& rules,
                         const market::Dataset& dataset, std::span<const EvaluationPart> parts);

}  // namespace vixen::tool
