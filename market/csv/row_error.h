// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace vixen::market::csv {

// Where a row stands: the file, its line (from 1, as editors count) and its number among the data
// rows (from 1, as data frames count when they start at 1).
struct RowPlace {
  std::string file;
  uint64_t line = 0;
  uint64_t row = 0;

  // "prices.csv: line 3 (row 2)".
  std::string Text() const;
};

// INVALID_ARGUMENT "<place>, time <time>: <fault>"; an empty time is left out.
absl::Status RowError(const RowPlace& place, const std::string& time, const std::string& fault);

// A text of a file as it is shown in errors: in backquotes, cut to 60 bytes, without control bytes.
std::string Quoted(std::string_view text);

}  // namespace vixen::market::csv
