// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "kernels/batch/batch.h"
#include "kernels/env/rules.h"
#include "market/dataset.h"
#include "tool/eval/part_books.h"

namespace vixen::tool {

// Rebuilds the books of one part from the executor's rows: the environment's own rules must lead
// to the same portfolio columns, bit for bit.
class PartReplay {
 public:
  PartReplay(const kernels::Rules& rules, const market::Dataset& dataset, uint64_t begin,
             double scale);

  // The next row of the part, appended to `steps`. INTERNAL naming bar, column and both values when
  // the rules do not lead to the row.
  absl::Status Step(const kernels::BatchView& rows, size_t row, std::vector<StepAccount>& steps);

  double largest_difference() const { return books_.largest_difference(); }

 private:
  absl::Status Compare(const char* column, const float* expected, const float* found) const;

  const kernels::Rules& rules_;
  PartBooks books_;
};

}  // namespace vixen::tool
