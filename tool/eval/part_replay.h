// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "kernels/batch/batch.h"
#include "kernels/env/rules.h"
#include "kernels/env/slot_state.h"
#include "market/dataset.h"
#include "tool/eval/account.h"

namespace vixen::tool {

// Rebuilds the books of one part from the executor's rows: the kernel's own portfolio rules give
// the positions again (and must give the same portfolio columns, bit for bit), a float64 account
// the money.
class PartReplay {
 public:
  // `scale` turns the episode's money into that of the chained curve.
  PartReplay(const kernels::Rules& rules, const market::Dataset& dataset, uint64_t begin,
             double scale);

  // The next row of the part. INTERNAL naming bar, column and both values when the rules do not
  // lead to the row.
  absl::Status Step(const kernels::BatchView& rows, size_t row);

  const std::vector<StepAccount>& steps() const { return steps_; }
  double largest_difference() const { return largest_difference_; }

 private:
  absl::Status Compare(const char* column, const float* expected, const float* found) const;

  const kernels::Rules& rules_;
  const market::Dataset& dataset_;
  double scale_;
  kernels::SlotState slot_;
  Account account_;
  std::vector<StepAccount> steps_;
  double largest_difference_ = 0;
};

}  // namespace vixen::tool
