// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace vixen::tool {

enum class Calendar : uint8_t { k24x7, kEquity, kFx, kFutures };

// "24x7", "equity", "fx", "futures"; usage error naming the four otherwise.
absl::StatusOr<Calendar> ParseCalendar(const std::string& name);
std::string CalendarName(Calendar calendar);

// P, the steps of a year, and how it was had.
struct Annualisation {
  double steps_a_year = 0;
  std::string how;         // "measured: 17,520 steps in 2.0 years", "calendar 24x7, bars of 1 h"
  double bar_seconds = 0;  // the most frequent distance of two bars of a segment
  double years = 0;        // first bar to last; overlapping parts count one by one
};

// Measured when the data span at least a year (365.25 days), else from the bar and the calendar:
// 24x7 365 days of 1,440 minutes, equity 252 × 390, fx 260 × 1,440, futures 252 × 1,380; bars of a
// day or longer count the days. `times` are the bars' times (ns UTC), parts one after another;
// `last` marks a part's end. REQUIRES: ≥ 2 bars, steps ≥ 1.
Annualisation ChooseAnnualisation(std::span<const int64_t> times, std::span<const uint8_t> last,
                                  uint64_t steps, Calendar calendar);

}  // namespace vixen::tool
