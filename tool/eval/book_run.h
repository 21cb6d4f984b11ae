// SPDX-License-Identifier: Apache-2.0
// One way through the bars of an evaluation, as books.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernels/env/rules.h"
#include "market/dataset.h"
#include "tool/eval/account.h"
#include "tool/eval/trades.h"

namespace vixen::tool {

// Bars [begin, end) of one segment, traded as one episode: what is to be run.
struct PlannedPart {
  market::BarRange range;
  uint32_t fold = 0;
};

// The same when it was run.
struct EvaluationPart {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint32_t fold = 0;
  uint64_t first_step = 0;
  uint64_t steps = 0;      // end − begin − 1 unless ruin ended it
  int64_t begin_time = 0;  // ns UTC, of bar `begin`
  double begin_price = 0;
  double capital = 0;  // of the chained curve at its start
  bool ended_by_ruin = false;
};

struct BookRun {
  std::vector<StepAccount> steps;  // of all parts, one part after another
  std::vector<Trade> trades;
  std::vector<EvaluationPart> parts;
  double capital = 0;  // after the last step

  // Opens the books of a part at the present capital; then the caller appends to `steps`, and
  // EndPart derives the rest.
  EvaluationPart BeginPart(const market::Dataset& dataset, PlannedPart plan) const;
  void EndPart(const market::Dataset& dataset, EvaluationPart part);
};

// The range cut at segment ends; single bars are left out.
std::vector<market::BarRange> PartsOf(const market::Dataset& dataset, market::BarRange range);

// The books of a rule that chooses `action(bar, step)` over the steps of `parts` (those that the
// policy took, so that curves stand beside each other step by step). After a ruin the part goes on
// without a position.
BookRun RunRule(const kernels::Rules& rules, const market::Dataset& dataset,
                std::span<const EvaluationPart> parts,
                const std::function<int(uint64_t bar, uint64_t step)>& action);

// Buys E₀/(C₀·(1 + rate)) units at each part's first close and holds them to its end.
BookRun RunBuyAndHold(double capital, double rate, const market::Dataset& dataset,
                      std::span<const EvaluationPart> parts);

}  // namespace vixen::tool
