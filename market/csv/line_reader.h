// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "market/csv/byte_source.h"

namespace vixen::market::csv {

// The lines of a text file that hold something: without line ends (LF or CRLF), a UTF-8 byte-order
// mark, blank lines and lines that begin with '#'. Memory is bounded, whatever the file holds.
class LineReader {
 public:
  static constexpr size_t kLongestLine = 64 << 10;

  explicit LineReader(ByteSource source);

  // False at the end. `line` is valid until the next call. Comments and blank lines are passed
  // over, but not blank ones that hold the table's delimiter (a tab; 0: not known).
  // INVALID_ARGUMENT for a line that is too long and for what is no text: UTF-16, an archive, NUL
  // bytes in the first line.
  absl::StatusOr<bool> Next(std::string_view& line, char delimiter = 0);

  // Of the line last returned, from 1.
  uint64_t line_number() const { return line_number_; }
  const std::string& path() const { return source_.path(); }
  bool regular_file() const { return source_.regular_file(); }

 private:
  absl::StatusOr<bool> NextRaw(std::string_view& line);
  absl::Status Refill();
  absl::Status CheckStart() const;

  ByteSource source_;
  std::unique_ptr<char[]> buffer_;
  size_t begin_ = 0;  // of what is not yet returned
  size_t end_ = 0;
  bool at_end_ = false;
  uint64_t line_number_ = 0;
};

}  // namespace vixen::market::csv
