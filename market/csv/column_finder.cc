// SPDX-License-Identifier: Apache-2.0
#include "market/csv/column_finder.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "market/csv/row_error.h"

namespace vixen::market::csv {
namespace {

std::string ListOf(const std::vector<std::string>& names) {
  return absl::StrJoin(names, ", ", [](std::string* out, const std::string& name) {
    absl::StrAppend(out, name.empty() ? "(empty)" : name);
  });
}

}  // namespace

ColumnFinder::ColumnFinder(const Columns& columns, const CsvOptions& options,
                           const std::string& place)
    : columns_(columns), options_(options), place_(place) {
  for (const std::string& name : columns.names) canonical_.push_back(CanonicalName(name));
}

absl::Status ColumnFinder::Error(const std::string& fault) const {
  return absl::InvalidArgumentError(
      absl::StrCat(place_, ": ", fault, "; columns found: ", ListOf(columns_.names)));
}

absl::StatusOr<int> ColumnFinder::Only(const std::string& canonical) const {
  int found = -1;
  for (size_t i = 0; i < canonical_.size(); ++i) {
    if (canonical_[i] != canonical) continue;
    if (found >= 0) {
      return Error(absl::StrCat("columns ", found + 1, " and ", i + 1, " are both called ",
                                Quoted(columns_.names[i]),
                                " (several instruments side by side: a file for each, or one "
                                "below the other with a column symbol)"));
    }
    found = static_cast<int>(i);
  }
  return found;
}

absl::StatusOr<int> ColumnFinder::Role(const std::string& role, const Names& names) const {
  if (const auto told = options_.columns.find(role); told != options_.columns.end()) {
    return Told(absl::StrCat("--columns ", role, "=", told->second), told->second);
  }
  for (const std::string& name : names) {
    VIXEN_ASSIGN_OR_RETURN(const int found, Only(name));
    if (found >= 0) return found;
  }
  return -1;
}

absl::StatusOr<int> ColumnFinder::Told(const std::string& flag, const std::string& name) const {
  const auto exact = std::find(columns_.names.begin(), columns_.names.end(), name);
  if (std::ranges::count(columns_.names, name) == 1) {
    return static_cast<int>(exact - columns_.names.begin());
  }
  VIXEN_ASSIGN_OR_RETURN(const int found, Only(CanonicalName(name)));
  int number = 0;
  if (found < 0 && absl::SimpleAtoi(name, &number) && number >= 1 &&
      static_cast<size_t>(number) <= columns_.count()) {
    return number - 1;
  }
  if (found < 0) return Error(absl::StrCat(flag, " names no column"));
  return found;
}

}  // namespace vixen::market::csv
