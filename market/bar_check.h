// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "market/bar.h"

namespace vixen::market {

// What is wrong with a bar: "low" "-40.32" "is not above 0".
struct BarFault {
  const char* field;
  double value;
  std::string rule;
};

// All finite, 0 < low ≤ min(open, close), max(open, close) ≤ high, volume ≥ 0.
inline bool IsValidBar(double open, double high, double low, double close, double volume) {
  // Comparisons with NaN are false, so only infinity is left for isfinite.
  return low > 0 && low <= open && low <= close && open <= high && close <= high &&
         std::isfinite(high) && volume >= 0 && std::isfinite(volume);
}

// The first fault; nothing for a valid bar.
std::optional<BarFault> FindBarFault(double open, double high, double low, double close,
                                     double volume);

// Columns of equal length, valid bars, timestamps strictly rising inside a segment, final bar last.
// INVALID_ARGUMENT naming row (from 0), time, field and value.
absl::Status ValidateBars(const Bars& bars);

}  // namespace vixen::market
