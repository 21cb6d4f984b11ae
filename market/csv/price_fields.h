// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "market/csv/columns.h"
#include "market/csv/options.h"

namespace vixen::market::csv {

// The fields of a row, and what some of them are as numbers already (NaN, or nothing at all: not).
struct RowFields {
  std::span<const std::string_view> text;
  std::span<const double> numbers;
};

struct RowPrices {
  double open = 0, high = 0, low = 0, close = 0;
  double volume = 0, tick_volume = 0;  // 0: there is no such column
};

// The prices and volumes of the rows of one file: numbers as the file writes them, Databento's
// fixed point, adjusted closes. Errors are the fault in words, without place.
class PriceFields {
 public:
  // Both are borrowed.
  PriceFields(const Columns& columns, const CsvOptions& options)
      : columns_(columns), options_(options) {}

  // Some price is empty, "NaN", "N/A" and the like.
  bool Lacking(std::span<const std::string_view> fields) const;

  // A valid bar (market/bar_check.h). `integer_times`: every time so far is an integer since 1970.
  absl::StatusOr<RowPrices> Read(const RowFields& fields, bool integer_times);

 private:
  absl::StatusOr<double> Number(const RowFields& fields, int column, const char* name) const;
  absl::StatusOr<double> Price(const RowFields& fields, int column, const char* name) const;
  absl::Status ChooseFixedPoint(const RowFields& fields, bool integer_times);
  absl::Status Check(const RowFields& fields, const RowPrices& prices) const;
  absl::Status Adjust(const RowFields& fields, RowPrices& prices) const;

  const Columns& columns_;
  const CsvOptions& options_;
  std::optional<bool> fixed_point_;  // Databento prices as integers in 1e-9
};

}  // namespace vixen::market::csv
