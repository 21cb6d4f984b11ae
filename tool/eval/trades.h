// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tool/eval/account.h"

namespace vixen::tool {

// From flat or a reversal to flat or a reversal; resizes belong to it. A trade still open at the
// end of its part is marked at the last close and has `open` set.
struct Trade {
  uint64_t entry_step = 0;  // index of the evaluation's step in which it was opened
  uint64_t exit_step = 0;   // … closed; the part's last step when open
  int64_t entry_time = 0;   // ns UTC, the bar whose close it traded at
  int64_t exit_time = 0;    // … closed at, or marked at when open
  double units = 0;         // opened, signed
  double last_units = 0;    // before it was closed, or now
  double entry_price = 0;
  double exit_price = 0;  // or the last close when open
  uint64_t bars = 0;      // steps with the position on
  uint32_t resizes = 0;
  double profit = 0;  // net of all its costs
  double costs = 0;
  bool open = false;
};

// Trades of one part. `times[i]` is the time of the bar that step i trades at and `times[i + 1]` of
// the one it is marked at, so there is one more than steps. Step numbers begin at `first_step`. Σ
// profit = equity after the last step − equity before the first.
std::vector<Trade> TradesOf(std::span<const StepAccount> steps, std::span<const int64_t> times,
                            uint64_t first_step);

}  // namespace vixen::tool
