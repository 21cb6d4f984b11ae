// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "market/row_policy.h"

namespace vixen::market {

// Order of day and month in dates such as 1/4/1999.
enum class DateOrder {
  kAuto,  // decided by the whole column; refused when both fit
  kMonthFirst,
  kDayFirst,
};

// How CSV files are to be understood. The defaults find out what can be found out without guessing.
struct CsvOptions {
  char delimiter = 0;  // 0: comma, semicolon or tab, from the first line
  char decimal = '.';  // '.' or ','
  char thousands = 0;  // between groups of three digits, such as ','; 0: there is none
  // Zone of times that carry none: an IANA name ("America/Chicago"), "UTC" or an offset ("-05:00").
  // Empty: such times are refused.
  std::string time_zone;
  DateOrder date_order = DateOrder::kAuto;
  bool header = true;  // false: the first line is data; true: found out from the first line
  // Column by role: time, date, open, high, low, close, volume, symbol, adj_close. `date` with
  // `time` are two halves. Columns of files without header are called 1, 2, ….
  std::map<std::string, std::string> columns;
  std::vector<std::string> symbols;  // instruments to read; empty: all
  std::string volume;                // a column's name; "none": absent; empty: found by name
  Duplicates duplicates = Duplicates::kError;
  Missing missing = Missing::kError;  // rows without a price
  bool adjust = false;  // all four prices × adjusted close / close, volume divided by it
};

}  // namespace vixen::market
