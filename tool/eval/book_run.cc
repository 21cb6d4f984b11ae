// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/book_run.h"

#include "tool/eval/part_books.h"

namespace vixen::tool {
namespace {

PlannedPart PlanOf(const EvaluationPart& part) { return {{part.begin, part.end}, part.fold}; }

}  // namespace

EvaluationPart BookRun::BeginPart(const market::Dataset& dataset, PlannedPart plan) const {
  return {.begin = plan.range.begin,
          .end = plan.range.end,
          .fold = plan.fold,
          .first_step = steps.size(),
          .begin_time = dataset.timestamp()[plan.range.begin],
          .begin_price = dataset.targets()[4 * plan.range.begin],
          .capital = capital};
}

void BookRun::EndPart(const market::Dataset& dataset, EvaluationPart part) {
  part.steps = steps.size() - part.first_step;
  const auto own = std::span(steps).subspan(part.first_step);
  const auto times = dataset.timestamp().subspan(part.begin, own.size() + 1);
  const std::vector<Trade> more = TradesOf(own, times, part.first_step);
  trades.insert(trades.end(), more.begin(), more.end());
  capital = steps.back().equity;
  parts.push_back(part);
}

std::vector<market::BarRange> PartsOf(const market::Dataset& dataset, market::BarRange range) {
  std::vector<market::BarRange> parts;
  uint64_t begin = range.begin;
  for (uint64_t bar = range.begin; bar < range.end; ++bar) {
    if (!dataset.last()[bar] && bar + 1 != range.end) continue;
    if (bar > begin) parts.push_back({begin, bar + 1});
    begin = bar + 1;
  }
  return parts;
}

BookRun RunRule(const kernels::Rules& rules, const market::Dataset& dataset,
                std::span<const EvaluationPart> parts,
                const std::function<int(uint64_t bar, uint64_t step)>& action) {
  const double initial = rules.settings.initial_capital;
  BookRun run;
  run.capital = initial;
  for (const EvaluationPart& planned : parts) {
    EvaluationPart part = run.BeginPart(dataset, PlanOf(planned));
    PartBooks books(rules, dataset, part.begin, run.capital / initial);
    uint64_t step = 0;
    for (; step < planned.steps && !books.ruined() && run.capital > 0; ++step) {
      run.steps.push_back(books.Step(action(part.begin + step, part.first_step + step)));
    }
    part.ended_by_ruin = books.ruined();
    const uint64_t traded = step;
    // What was open at the ruin is marked there; its trade must not see the idle steps.
    std::vector<StepAccount> idle;
    const double left = traded == 0 ? run.capital : run.steps.back().equity;
    for (; step < planned.steps; ++step) {
      const float* prices = dataset.targets().data() + 4 * (part.begin + step);
      idle.push_back(
          {.price = prices[0], .next_close = prices[1], .equity_before = left, .equity = left});
    }
    if (traded > 0) run.EndPart(dataset, part);
    run.steps.insert(run.steps.end(), idle.begin(), idle.end());
    if (traded == 0) run.parts.push_back(part);
    run.parts.back().steps = planned.steps;
  }
  return run;
}

BookRun RunBuyAndHold(double capital, double rate, const market::Dataset& dataset,
                      std::span<const EvaluationPart> parts) {
  BookRun run;
  run.capital = capital;
  for (const EvaluationPart& planned : parts) {
    const EvaluationPart part = run.BeginPart(dataset, PlanOf(planned));
    std::vector<double> closes = {part.begin_price};
    for (uint64_t step = 0; step < planned.steps; ++step) {
      closes.push_back(dataset.targets()[4 * (part.begin + step) + 1]);
    }
    const std::vector<StepAccount> steps = BuyAndHold(run.capital, closes, rate);
    run.steps.insert(run.steps.end(), steps.begin(), steps.end());
    run.EndPart(dataset, part);
  }
  return run;
}

}  // namespace vixen::tool
