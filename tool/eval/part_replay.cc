// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/part_replay.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "kernels/env/portfolio.h"

namespace vixen::tool {

PartReplay::PartReplay(const kernels::Rules& rules, const market::Dataset& dataset, uint64_t begin,
                       double scale)
    : rules_(rules), books_(rules, dataset, begin, scale) {}

absl::Status PartReplay::Compare(const char* column, const float* expected,
                                 const float* found) const {
  for (int i = 0; i < kernels::kPortfolioFeatures; ++i) {
    if (std::memcmp(&expected[i], &found[i], sizeof(float)) == 0 || expected[i] == found[i])
      continue;
    return absl::InternalError(
        absl::StrFormat("bar %d: %s[%d] of the executor is %.9g, the rules give %.9g",
                        books_.slot().bar, column, i, found[i], expected[i]));
  }
  return absl::OkStatus();
}

absl::Status PartReplay::Step(const kernels::BatchView& rows, size_t row,
                              std::vector<StepAccount>& steps) {
  if (rows.bar[row] != books_.slot().bar) {
    return absl::InternalError(absl::StrCat("the executor stepped bar ", rows.bar[row],
                                            " instead of ", books_.slot().bar));
  }
  const float* prices = books_.target();
  float features[kernels::kPortfolioFeatures];
  kernels::ObservePortfolio(rules_, books_.slot(), prices[0], features);
  VIXEN_RETURN_IF_ERROR(Compare("portfolio", features, rows.portfolio + 3 * row));
  const StepAccount step = books_.Step(rows.action[row]);
  kernels::ObservePortfolio(rules_, books_.slot(), prices[1], features);
  VIXEN_RETURN_IF_ERROR(Compare("next_portfolio", features, rows.next_portfolio + 3 * row));
  steps.push_back(step);
  return absl::OkStatus();
}

}  // namespace vixen::tool
