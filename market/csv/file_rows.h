// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "market/csv/instruments.h"
#include "market/csv/options.h"
#include "market/csv/zone.h"

namespace vixen::market::csv {

// A row without a price stood before row `before_row` (size(): after the last) and ends a segment.
struct SegmentCut {
  static constexpr uint32_t kEvery = UINT32_MAX;  // instrument: the row did not say whose it is

  size_t before_row = 0;
  uint32_t instrument = 0;
};

// The rows of one file in file order: each a valid bar, times resolved, order not yet looked at.
struct FileRows {
  std::vector<int64_t> time;  // ns UTC
  std::vector<double> open, high, low, close;
  std::vector<double> volume;       // empty: no volume column
  std::vector<double> tick_volume;  // empty: no such column beside volume
  std::vector<uint32_t> instrument;
  std::vector<uint32_t> line;    // in the file, from 1
  std::vector<uint32_t> row;     // among the file's data rows, from 1
  std::vector<SegmentCut> cuts;  // in file order
  uint64_t missing = 0;          // rows without a price, left out
  uint64_t unwanted = 0;         // rows of instruments that were not asked for
  std::string path;
  std::string volume_name, tick_volume_name;
  bool date_only = false;                      // times are dates: midnight UTC
  bool used_zone = false;                      // times were local ones of the given zone
  std::vector<std::string> other_instruments;  // some of those in the file that were not asked for
  std::vector<std::string> warnings;

  size_t size() const { return time.size(); }
};

// Reads one file; no rows when it holds none of the instruments asked for. `zone` (borrowed, may be
// null) is that of times without zone. Errors name file, line, row, time, field and value. Memory:
// the rows; the file itself passes through a buffer of 1 MiB.
absl::StatusOr<FileRows> ReadFileRows(const std::string& path, const CsvOptions& options,
                                      Zone* zone, Instruments& instruments);

}  // namespace vixen::market::csv
