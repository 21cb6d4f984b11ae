// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "market/csv/file_rows.h"
#include "market/csv/row_error.h"

namespace vixen::market::csv {

// One instrument's bars over all files, times strictly rising.
struct Series {
  std::vector<int64_t> time;
  std::vector<double> open, high, low, close, volume, tick_volume;
  RowPlace last_place;  // of the bar that stands last, for errors about the next one

  size_t size() const { return time.size(); }
};

// Adds the rows of one file (REQUIRES: one or more) to the series of their instruments. A file
// whose times fall from its first row to its last (newest first) is turned round. Equal times are
// refused or resolved as `duplicates` says, falling ones are refused; errors name both rows.
absl::Status AppendFile(FileRows rows, Duplicates duplicates, std::vector<Series>& series);

}  // namespace vixen::market::csv
