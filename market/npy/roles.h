// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "market/npy/reader.h"
#include "market/npy/table.h"

namespace vixen::market::npy {

// The columns of one file by role; null: there is none.
struct Roles {
  const Column* time = nullptr;
  const Column* prices[4] = {};  // open, high, low, close
  const Column* volume = nullptr;
  const Column* symbol = nullptr;
  const Column* last = nullptr;
};

// By the names in `options.columns`, else by the usual ones; the pointers are into `columns`. All
// have as many rows as the time. INVALID_ARGUMENT names file, role and columns found.
absl::StatusOr<Roles> FindRoles(const std::vector<Column>& columns, const NpyOptions& options,
                                const std::string& path);

}  // namespace vixen::market::npy
