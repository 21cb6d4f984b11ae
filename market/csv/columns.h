// SPDX-License-Identifier: Apache-2.0
// Which column of a file is what: from its header, from a known form without header, or as told.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "market/csv/options.h"

namespace vixen::market::csv {

// Column indices from 0; -1: there is none.
struct Columns {
  std::vector<std::string> names;  // as in the file, or "1", "2", …
  int time = -1;                   // the whole time, or its date
  int clock = -1;                  // the time of day, when `time` is the date only
  int open = -1, high = -1, low = -1, close = -1;
  int volume = -1;
  int tick_volume = -1;  // beside `volume`: taken when that is 0 in every row
  int adjusted_close = -1;
  std::vector<int> instrument;  // their texts together name an instrument
  bool utc = false;             // the header says that times are UTC
  bool databento = false;       // prices without a decimal point are in 1e-9
  bool numbered = false;        // the time is a first column without a name
  bool frame_head = false;      // so is "Price", if a line "Ticker,X,…" or "Date,,…" follows

  size_t count() const { return names.size(); }
};

// A name as it is compared: lower case, letters, digits and bytes beyond ASCII only ("<Adj. Close>"
// is "adjclose").
std::string CanonicalName(std::string_view name);

// True when the fields are names: none of them is a number or a time.
bool IsHeader(const std::vector<std::string_view>& fields, char decimal);

// Columns by name. `file` and `line` name the place in errors (INVALID_ARGUMENT), which list the
// columns found and offer --columns.
absl::StatusOr<Columns> ColumnsFromHeader(const std::vector<std::string_view>& fields,
                                          const CsvOptions& options, const std::string& place);

// The second and third line of a data frame with two levels of names (as yfinance downloads are):
// "Ticker,X,X,…" and "Date,,,…". `ticker` takes X. INVALID_ARGUMENT when it names several.
absl::StatusOr<bool> IsFrameHead(std::span<const std::string_view> fields, std::string& ticker);

// Columns of a file without header: 12 columns of a Binance kline file, 7 with date and time apart
// or with an epoch first (Kraken: …, volume, trades), 6 with the time first; otherwise
// `options.columns` must say them by number.
absl::StatusOr<Columns> ColumnsWithoutHeader(const std::vector<std::string_view>& fields,
                                             const CsvOptions& options, const std::string& place);

}  // namespace vixen::market::csv
