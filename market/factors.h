// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "market/bar.h"

namespace vixen::market {

// A split or dividend: what changes for bars that start at `time_ns` or later.
struct CorporateAction {
  std::string symbol;  // empty: of every instrument
  int64_t time_ns = 0;
  double split = 1;     // new shares for an old one
  double dividend = 0;  // cash a share, in the prices' currency
  double factor = 1;    // earlier prices × factor compare with later ones; volumes ÷ factor
  std::string place;    // file and row, for errors
};

// A CSV file (plain or gzip) with a header: date (or time), symbol if there are several, and one or
// more of split ("2", "3:2"; 0 = none), dividend, factor. Dates stand for midnight in `zone` (as
// --tz; empty: UTC). INVALID_ARGUMENT naming file, row, field and value.
absl::StatusOr<std::vector<CorporateAction>> ReadFactors(const std::string& path,
                                                         const std::string& zone);

// Takes splits and dividends out of the prices, forward from the first bar: bars before an action
// stay as they are, later ones are put into the same shares (prices × split ÷ (1 − dividend / close
// before), volumes ÷ split). So no later action changes an earlier bar, as adjusting backwards
// does. Actions before an instrument's second bar or after its last change nothing.
// INVALID_ARGUMENT for a dividend that is not below the close before it, or prices that float64
// cannot hold.
absl::Status ApplyFactors(std::vector<CorporateAction> actions, Bars& bars);

}  // namespace vixen::market
