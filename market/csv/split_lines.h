// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "market/csv/line_reader.h"

namespace vixen::market::csv {

struct SplitLine {
  std::string_view text;
  std::span<const std::string_view> fields;  // SplitFields of the text
  std::span<const double> numbers;           // by field: ParseNumber; NaN: none, or not asked for
  uint64_t number = 0;                       // in the file, from 1
};

// The rest of a file's lines with their fields and the numbers in `columns` (those that are
// negative or beyond a line's end are passed over). After the first 256 KiB of a regular file they
// are read, cut and parsed by a thread of its own, up to four blocks ahead of the caller: more than
// half of the work of reading a table.
class SplitLines {
 public:
  SplitLines(LineReader lines, char delimiter, char decimal, std::vector<int> columns);
  ~SplitLines();  // waits for the block that is being cut
  SplitLines(const SplitLines&) = delete;
  SplitLines& operator=(const SplitLines&) = delete;

  // False at the end. `line` is valid until the next call. The reader's error comes after the lines
  // before it. One thread at a time.
  absl::StatusOr<bool> Next(SplitLine& line);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vixen::market::csv
