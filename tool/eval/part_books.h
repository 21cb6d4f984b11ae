// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/env/rules.h"
#include "kernels/env/slot_state.h"
#include "market/dataset.h"
#include "tool/eval/account.h"

namespace vixen::tool {

// The books of one part, action by action: the environment's own rules give the positions (in
// float32, as every executor), a float64 account the money on those positions.
class PartBooks {
 public:
  // `scale` turns the episode's money into that of the chained curve. `rules` and `dataset` must
  // outlive this.
  PartBooks(const kernels::Rules& rules, const market::Dataset& dataset, uint64_t begin,
            double scale);

  // Trades `action` at the slot's bar and marks at the next one. REQUIRES: the bar is not the last
  // of its segment, and the part is not ruined.
  StepAccount Step(int action);

  // As an executor would see it; `bar` is that of the next step.
  const kernels::SlotState& slot() const { return slot_; }
  // Close of the slot's bar and the next close.
  const float* target() const {
    return dataset_.targets().data() + 4 * static_cast<size_t>(slot_.bar);
  }
  // The last step left the equity at or below the level that ends an episode (rule 12).
  bool ruined() const { return ruined_; }
  // Largest difference of both books' equity so far, relative to the part's capital.
  double largest_difference() const { return largest_difference_; }

 private:
  const kernels::Rules& rules_;
  const market::Dataset& dataset_;
  double scale_;
  kernels::SlotState slot_;
  Account account_;
  bool ruined_ = false;
  double largest_difference_ = 0;
};

}  // namespace vixen::tool
