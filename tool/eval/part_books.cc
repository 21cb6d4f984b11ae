// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/part_books.h"

#include <algorithm>
#include <cmath>

#include "kernels/env/portfolio.h"
#include "kernels/env/step.h"

namespace vixen::tool {

PartBooks::PartBooks(const kernels::Rules& rules, const market::Dataset& dataset, uint64_t begin,
                     double scale)
    : rules_(rules),
      dataset_(dataset),
      scale_(scale),
      slot_(kernels::FreshSlot(rules, 0, static_cast<uint32_t>(begin), 0)),
      account_(static_cast<double>(rules.settings.initial_capital) * scale) {}

StepAccount PartBooks::Step(int action) {
  const float* prices = target();
  kernels::StepCosts costs;
  kernels::Trade(rules_, kernels::TermsOf(rules_, action), prices[0], slot_, costs);
  kernels::ChargeBorrowing(rules_, prices[0], slot_, costs);
  const StepAccount step =
      account_.Step(prices[0], prices[1], static_cast<double>(slot_.position) * scale_,
                    rules_.rate[action % kernels::kStyles], rules_.borrow_rate);
  const float equity = kernels::EquityAt(slot_, prices[1]);
  ruined_ = equity <= rules_.ruin_equity;
  const double initial = static_cast<double>(rules_.settings.initial_capital) * scale_;
  largest_difference_ = std::max(
      largest_difference_, std::abs(step.equity - static_cast<double>(equity) * scale_) / initial);
  slot_.bar += 1;
  return step;
}

}  // namespace vixen::tool
