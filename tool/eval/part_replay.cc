// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/part_replay.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "kernels/env/portfolio.h"
#include "kernels/env/step.h"

namespace vixen::tool {

PartReplay::PartReplay(const kernels::Rules& rules, const market::Dataset& dataset, uint64_t begin,
                       double scale)
    : rules_(rules),
      dataset_(dataset),
      scale_(scale),
      slot_(kernels::FreshSlot(rules, 0, static_cast<uint32_t>(begin), 0)),
      account_(static_cast<double>(rules.settings.initial_capital) * scale) {}

absl::Status PartReplay::Compare(const char* column, const float* expected,
                                 const float* found) const {
  for (int i = 0; i < kernels::kPortfolioFeatures; ++i) {
    if (std::memcmp(&expected[i], &found[i], sizeof(float)) == 0 || expected[i] == found[i])
      continue;
    return absl::InternalError(
        absl::StrFormat("bar %d: %s[%d] of the executor is %.9g, the rules give %.9g", slot_.bar,
                        column, i, found[i], expected[i]));
  }
  return absl::OkStatus();
}

absl::Status PartReplay::Step(const kernels::BatchView& rows, size_t row) {
  if (rows.bar[row] != slot_.bar) {
    return absl::InternalError(
        absl::StrCat("the executor stepped bar ", rows.bar[row], " instead of ", slot_.bar));
  }
  const float* target = dataset_.targets().data() + 4 * static_cast<size_t>(slot_.bar);
  const int action = rows.action[row];
  float features[kernels::kPortfolioFeatures];
  kernels::ObservePortfolio(rules_, slot_, target[0], features);
  VIXEN_RETURN_IF_ERROR(Compare("portfolio", features, rows.portfolio + 3 * row));
  kernels::StepCosts costs;
  kernels::Trade(rules_, kernels::TermsOf(rules_, action), target[0], slot_, costs);
  kernels::ChargeBorrowing(rules_, target[0], slot_, costs);
  kernels::ObservePortfolio(rules_, slot_, target[1], features);
  VIXEN_RETURN_IF_ERROR(Compare("next_portfolio", features, rows.next_portfolio + 3 * row));

  const StepAccount step =
      account_.Step(target[0], target[1], static_cast<double>(slot_.position) * scale_,
                    rules_.rate[action % kernels::kStyles], rules_.borrow_rate);
  const double initial = static_cast<double>(rules_.settings.initial_capital) * scale_;
  const double kernel_equity = static_cast<double>(kernels::EquityAt(slot_, target[1])) * scale_;
  largest_difference_ =
      std::max(largest_difference_, std::abs(step.equity - kernel_equity) / initial);
  steps_.push_back(step);
  slot_.bar += 1;
  return absl::OkStatus();
}

}  // namespace vixen::tool
