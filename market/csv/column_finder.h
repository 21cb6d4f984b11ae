// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "market/csv/columns.h"
#include "market/csv/options.h"

namespace vixen::market::csv {

// Looks names up in one file's header. Borrows what it is made of. Errors are INVALID_ARGUMENT
// naming the place and the columns found.
class ColumnFinder {
 public:
  using Names = std::vector<std::string>;

  ColumnFinder(const Columns& columns, const CsvOptions& options, const std::string& place);

  absl::Status Error(const std::string& fault) const;

  // The only column of that canonical name, -1 when there is none.
  absl::StatusOr<int> Only(const std::string& canonical) const;

  // What --columns says for a role, else the first of `names` that is there, else -1.
  absl::StatusOr<int> Role(const std::string& role, const Names& names) const;

  // The column that `flag` names, or gives by its number from 1.
  absl::StatusOr<int> Told(const std::string& flag, const std::string& name) const;

  bool TellsAnyOf(const std::string& role) const { return options_.columns.contains(role); }
  const Names& canonical() const { return canonical_; }

 private:
  const Columns& columns_;
  const CsvOptions& options_;
  const std::string& place_;
  Names canonical_;
};

}  // namespace vixen::market::csv
