// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "market/npy/array.h"

namespace vixen::market::npy {

// A named column of values: a 1-D array, a field of records, or a column of a 2-D array (named 1,
// 2, …). Borrows the array.
struct Column {
  std::string name;
  const Array* array = nullptr;
  const Field* field = nullptr;
  uint64_t index = 0;  // in a 2-D array

  uint64_t rows() const { return array->shape[0]; }
  const Type& type() const { return field->type; }
  const char* At(uint64_t row) const { return array->At(*field, row, index); }
};

// All columns of a file's arrays; 2-D arrays with a name (of an archive) are left out.
std::vector<Column> ColumnsOf(const std::vector<Array>& arrays);

// The usual names of a time column, in the form of CanonicalName (market/csv/columns.h).
bool IsTimeName(const std::string& name);

// ns UTC. INVALID_ARGUMENT naming `source`, the column, the row and its value for a type that is no
// time, units that change, fractions, times outside the calendar.
absl::StatusOr<std::vector<int64_t>> TimesOf(const Column& column, const std::string& source);

}  // namespace vixen::market::npy
