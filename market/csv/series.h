// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "market/csv/file_rows.h"
#include "market/csv/row_error.h"
#include "market/instrument_bars.h"

namespace vixen::market::csv {

// One instrument's bars over all files, times strictly rising inside a segment.
struct Series {
  InstrumentBars bars;
  std::vector<double> tick_volume;
  RowPlace last_place;  // of the bar that stands last, for errors about the next one
  bool cut = false;     // the next bar begins a segment
};

// Adds the rows of one file (REQUIRES: one or more) to the series of their instruments. A file
// whose times fall from its first row to its last (newest first) is turned round. Equal times are
// refused or resolved as `duplicates` says, falling ones are refused; errors name both rows.
// `repeated` counts the rows that equal times left out.
absl::Status AppendFile(FileRows rows, Duplicates duplicates, std::vector<Series>& series,
                        uint64_t& repeated);

}  // namespace vixen::market::csv
