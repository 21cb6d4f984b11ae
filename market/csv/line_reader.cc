// SPDX-License-Identifier: Apache-2.0
#include "market/csv/line_reader.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace vixen::market::csv {
namespace {

constexpr size_t kBufferBytes = 256 << 10;
static_assert(kBufferBytes > LineReader::kLongestLine);

struct Magic {
  std::string_view bytes;
  const char* what;
};
constexpr Magic kNotText[] = {
    {std::string_view("\xFF\xFE", 2), "UTF-16 text: save it as UTF-8 first"},
    {std::string_view("\xFE\xFF", 2), "UTF-16 text: save it as UTF-8 first"},
    {std::string_view("PK\x03\x04", 4),
     "a zip archive: unpack it first (an Excel workbook: save it as CSV)"},
    {std::string_view("\xD0\xCF\x11\xE0", 4), "an Excel workbook: save it as CSV"},
    {std::string_view("PAR1", 4), "Parquet: docs/import.md has the line that converts it"},
    {std::string_view("\x28\xB5\x2F\xFD", 4), "compressed with Zstandard: unpack it first"},
    {std::string_view("\xFD\x37zXZ", 5), "compressed with xz: unpack it first"},
    {std::string_view("BZh", 3), "compressed with bzip2: unpack it first"},
    {"<!DOCTYPE", "a web page, not a table: look at it in a browser"},
    {"<!doctype", "a web page, not a table: look at it in a browser"},
    {"<html", "a web page, not a table: look at it in a browser"},
    {"<?xml", "XML, not a table: save it as CSV"},
    {"{", "JSON, not a table: write its bars as CSV"},
    {"[[", "JSON, not a table: write its bars as CSV"},
    {"[{", "JSON, not a table: write its bars as CSV"},
    {"[\n", "JSON, not a table: write its bars as CSV"},
};

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\v\f") == std::string_view::npos;
}

}  // namespace

LineReader::LineReader(ByteSource source)
    : source_(std::move(source)), buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)) {}

absl::Status LineReader::Refill() {
  std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  while (end_ < kBufferBytes && !at_end_) {
    VIXEN_ASSIGN_OR_RETURN(const size_t got,
                           source_.Read(buffer_.get() + end_, kBufferBytes - end_));
    at_end_ = got == 0;
    end_ += got;
  }
  return absl::OkStatus();
}

absl::Status LineReader::CheckStart() const {
  const std::string_view start(buffer_.get() + begin_, end_ - begin_);
  for (const Magic& magic : kNotText) {
    if (start.starts_with(magic.bytes)) {
      return absl::InvalidArgumentError(absl::StrCat(path(), ": is ", magic.what));
    }
  }
  const std::string_view line = start.substr(0, start.find('\n')).substr(0, kLongestLine);
  if (line.find('\0') != line.npos) {
    return absl::InvalidArgumentError(absl::StrCat(path(), ": line 1 holds NUL bytes: not text"));
  }
  if (const size_t carriage = line.find('\r');
      carriage < line.size() - 1 && carriage != line.npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(path(), ": lines end in CR alone: save the file with LF or CRLF"));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> LineReader::NextRaw(std::string_view& line) {
  const void* newline =
      begin_ < end_ ? std::memchr(buffer_.get() + begin_, '\n', end_ - begin_) : nullptr;
  if (newline == nullptr && !at_end_) {
    const bool start = line_number_ == 0 && end_ == 0;
    VIXEN_RETURN_IF_ERROR(Refill());
    if (start) {
      VIXEN_RETURN_IF_ERROR(CheckStart());
      constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
      if (std::string_view(buffer_.get(), end_).starts_with(kByteOrderMark)) begin_ = 3;
    }
    newline = std::memchr(buffer_.get() + begin_, '\n', end_ - begin_);
  }
  if (begin_ == end_) return false;
  ++line_number_;
  const char* from = buffer_.get() + begin_;
  const size_t length =
      newline == nullptr ? end_ - begin_ : static_cast<const char*>(newline) - from;
  if (length > kLongestLine) {
    return absl::InvalidArgumentError(absl::StrCat(path(), ": line ", line_number_,
                                                   " is longer than ", kLongestLine,
                                                   " bytes: not a table of bars"));
  }
  begin_ += length + (newline == nullptr ? 0 : 1);
  line = std::string_view(from, length);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

absl::StatusOr<bool> LineReader::Next(std::string_view& line, char delimiter) {
  for (;;) {
    VIXEN_ASSIGN_OR_RETURN(const bool more, NextRaw(line));
    if (!more) return false;
    if (line.starts_with('#')) continue;
    if (!IsBlank(line) || (delimiter != 0 && line.find(delimiter) != line.npos)) return true;
  }
}

}  // namespace vixen::market::csv
