// SPDX-License-Identifier: Apache-2.0
#include "market/npy/table.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "market/csv/columns.h"
#include "market/format.h"

namespace vixen::market::npy {
namespace {

// By size, as in CSV files.
int64_t UnitOf(int64_t value) {
  const double size = std::fabs(static_cast<double>(value));
  return size < 1e11 ? 1'000'000'000 : size < 1e14 ? 1'000'000 : size < 1e17 ? 1'000 : 1;
}

}  // namespace

std::vector<Column> ColumnsOf(const std::vector<Array>& arrays) {
  std::vector<Column> columns;
  for (const Array& array : arrays) {
    if (array.shape.size() == 2 && array.name.empty() && !array.is_structured()) {
      for (uint64_t i = 0; i < std::min<uint64_t>(array.shape[1], 1024); ++i) {
        columns.push_back({absl::StrCat(i + 1), &array, &array.fields[0], i});
      }
    }
    if (array.shape.size() != 1) continue;
    for (const Field& field : array.fields) {
      columns.push_back({field.name.empty() ? array.name : field.name, &array, &field, 0});
    }
  }
  return columns;
}

bool IsTimeName(const std::string& name) {
  constexpr const char* kNames[] = {"time",    "timestamp", "date",  "datetime",
                                    "tsevent", "opentime",  "index", "datetimeutc"};
  return std::ranges::find(kNames, csv::CanonicalName(name)) != std::end(kNames);
}

absl::StatusOr<std::vector<int64_t>> TimesOf(const Column& column, const std::string& source) {
  const Type& type = column.type();
  const auto fault = [&](uint64_t row, const std::string& text) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": row ", row, " ", column.name, " = ", text));
  };
  if (!type.is_number() && type.kind != Kind::kTime) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": ", column.name, " is ", type.Name(),
                     "; times are datetime64 or whole numbers since 1970"));
  }
  std::vector<int64_t> times;
  times.reserve(column.rows());
  std::optional<int64_t> unit;
  if (type.kind == Kind::kTime) unit = type.unit_ns;
  for (uint64_t row = 0; row < column.rows(); ++row) {
    int64_t value = 0;
    if (type.kind == Kind::kFloat) {
      const double number = NumberAt(type, column.At(row));
      if (!(std::fabs(number) <= 9007199254740992.0) || number != std::floor(number)) {
        return fault(row, absl::StrCat(FormatValue(number), ", which ", type.Name(),
                                       " does not hold as a whole number; give int64 times"));
      }
      value = static_cast<int64_t>(number);
    } else {
      const std::optional<int64_t> integer = IntegerAt(type, column.At(row));
      if (!integer || *integer == INT64_MIN) return fault(row, "no time (NaT)");
      value = *integer;
    }
    if (!unit) unit = UnitOf(value);
    if (type.kind != Kind::kTime && UnitOf(value) != *unit) {
      return fault(row, absl::StrCat(value, " is in another unit, by its size, than row 0"));
    }
    int64_t ns = 0;
    if (__builtin_mul_overflow(value, *unit, &ns)) {
      return fault(row, absl::StrCat(value, ", outside the years 1678 to 2261"));
    }
    times.push_back(ns);
  }
  return times;
}

}  // namespace vixen::market::npy
