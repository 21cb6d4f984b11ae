// SPDX-License-Identifier: Apache-2.0
#include "market/csv/price_fields.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "market/bar_check.h"
#include "market/csv/number.h"
#include "market/csv/row_error.h"

namespace vixen::market::csv {
namespace {

constexpr double kDatabentoUnit = 1e9;
constexpr std::string_view kDatabentoUndefined = "9223372036854775807";
constexpr std::string_view kNothing[] = {"", "nan", "n/a", "na", "null", "none", ".", "-"};

bool StandsForNothing(std::string_view field) {
  return std::ranges::any_of(kNothing, [field](std::string_view text) {
    return absl::EqualsIgnoreCase(absl::string_view(field.data(), field.size()),
                                  absl::string_view(text.data(), text.size()));
  });
}

absl::Status Fault(const std::string& fault) { return absl::InvalidArgumentError(fault); }

}  // namespace

bool PriceFields::Lacking(std::span<const std::string_view> fields) const {
  return std::ranges::any_of(std::array{columns_.open, columns_.high, columns_.low, columns_.close},
                             [&](int column) { return StandsForNothing(fields[column]); });
}

absl::StatusOr<double> PriceFields::Number(const RowFields& fields, int column,
                                           const char* name) const {
  if (!fields.numbers.empty() && !std::isnan(fields.numbers[column])) return fields.numbers[column];
  const std::string_view text = fields.text[column];
  if (const std::optional<double> value =
          ParseGrouped(text, options_.decimal, options_.thousands)) {
    return *value;
  }
  const bool volume = column == columns_.volume || column == columns_.tick_volume;
  std::string remedy = StandsForNothing(text) && !volume
                           ? "--missing drop or --missing segment leaves such rows out"
                           : WhyNoNumber(text, options_.decimal);
  if (volume) {
    absl::StrAppend(&remedy, remedy.empty() ? "" : "; ", "--volume none leaves the volume out");
  }
  return Fault(absl::StrCat(name, " = ", Quoted(text), " is not a finite decimal number",
                            remedy.empty() ? "" : absl::StrCat(" (", remedy, ")")));
}

absl::StatusOr<double> PriceFields::Price(const RowFields& fields, int column,
                                          const char* name) const {
  VIXEN_ASSIGN_OR_RETURN(const double value, Number(fields, column, name));
  if (!columns_.databento) return value;
  const bool fixed_point = fields.text[column].find('.') == std::string_view::npos;
  if (fixed_point != *fixed_point_) {
    return Fault(absl::StrCat(name, " = ", Quoted(fields.text[column]),
                              " is written in another way ",
                              "than the prices before (decimal, or integer in 1e-9)"));
  }
  if (fixed_point && fields.text[column] == kDatabentoUndefined) {
    return Fault(absl::StrCat(name, " = ", Quoted(fields.text[column]), " stands for no price"));
  }
  return fixed_point ? value / kDatabentoUnit : value;
}

absl::Status PriceFields::ChooseFixedPoint(const RowFields& fields, bool integer_times) {
  if (!columns_.databento || fixed_point_) return absl::OkStatus();
  fixed_point_ = fields.text[columns_.open].find('.') == std::string_view::npos;
  if (!*fixed_point_ || integer_times) return absl::OkStatus();
  return Fault(absl::StrCat("open = ", Quoted(fields.text[columns_.open]),
                            " is an integer beside a formatted time: Databento writes prices in "
                            "1e-9 with integer times, or both formatted"));
}

absl::Status PriceFields::Check(const RowFields& fields, const RowPrices& prices) const {
  if (!IsValidBar(prices.open, prices.high, prices.low, prices.close, prices.volume)) {
    const std::optional<BarFault> fault =
        FindBarFault(prices.open, prices.high, prices.low, prices.close, prices.volume);
    const int column = fault->field == std::string_view("open")    ? columns_.open
                       : fault->field == std::string_view("high")  ? columns_.high
                       : fault->field == std::string_view("low")   ? columns_.low
                       : fault->field == std::string_view("close") ? columns_.close
                                                                   : columns_.volume;
    return Fault(
        absl::StrCat(fault->field, " = ", std::string(fields.text[column]), " ", fault->rule));
  }
  if (prices.tick_volume < 0) {
    return Fault(absl::StrCat("tick volume = ", std::string(fields.text[columns_.tick_volume]),
                              " is below 0"));
  }
  return absl::OkStatus();
}

absl::Status PriceFields::Adjust(const RowFields& fields, RowPrices& prices) const {
  VIXEN_ASSIGN_OR_RETURN(const double adjusted,
                         Number(fields, columns_.adjusted_close, "adjusted close"));
  const std::string text(fields.text[columns_.adjusted_close]);
  if (adjusted <= 0) return Fault(absl::StrCat("adjusted close = ", text, " is not above 0"));
  const double factor = adjusted / prices.close;
  prices.open *= factor;
  prices.high *= factor;
  prices.low *= factor;
  prices.close *= factor;
  prices.volume /= factor;
  prices.tick_volume /= factor;
  if (IsValidBar(prices.open, prices.high, prices.low, prices.close, prices.volume)) {
    return absl::OkStatus();
  }
  return Fault(absl::StrCat("adjusted close = ", text, " makes prices that float64 cannot hold"));
}

absl::StatusOr<RowPrices> PriceFields::Read(const RowFields& fields, bool integer_times) {
  VIXEN_RETURN_IF_ERROR(ChooseFixedPoint(fields, integer_times));
  RowPrices prices;
  VIXEN_ASSIGN_OR_RETURN(prices.open, Price(fields, columns_.open, "open"));
  VIXEN_ASSIGN_OR_RETURN(prices.high, Price(fields, columns_.high, "high"));
  VIXEN_ASSIGN_OR_RETURN(prices.low, Price(fields, columns_.low, "low"));
  VIXEN_ASSIGN_OR_RETURN(prices.close, Price(fields, columns_.close, "close"));
  if (columns_.volume >= 0) {
    VIXEN_ASSIGN_OR_RETURN(prices.volume, Number(fields, columns_.volume, "volume"));
  }
  if (columns_.tick_volume >= 0) {
    VIXEN_ASSIGN_OR_RETURN(prices.tick_volume, Number(fields, columns_.tick_volume, "tick volume"));
  }
  VIXEN_RETURN_IF_ERROR(Check(fields, prices));
  if (options_.adjust) VIXEN_RETURN_IF_ERROR(Adjust(fields, prices));
  return prices;
}

}  // namespace vixen::market::csv
