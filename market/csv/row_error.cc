// SPDX-License-Identifier: Apache-2.0
#include "market/csv/row_error.h"

#include "absl/strings/str_cat.h"

namespace vixen::market::csv {

std::string RowPlace::Text() const {
  return absl::StrCat(file, ": line ", line, " (row ", row, ")");
}

absl::Status RowError(const RowPlace& place, const std::string& time, const std::string& fault) {
  return absl::InvalidArgumentError(
      absl::StrCat(place.Text(), time.empty() ? "" : ", time ", time, ": ", fault));
}

std::string Quoted(std::string_view text) {
  constexpr size_t kMost = 60;
  std::string shown = "`";
  for (const char c : text.substr(0, kMost)) {
    shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  }
  return shown + (text.size() > kMost ? "…`" : "`");
}

}  // namespace vixen::market::csv
