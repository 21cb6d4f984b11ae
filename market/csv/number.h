// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vixen::market::csv {

// A decimal number that fills the whole text: digits, at most one decimal sign, an exponent.
// Nothing else is a number: no thousands separators, "N/A", hexadecimal, "inf" or "nan". Rounded
// correctly.
std::optional<double> ParseNumber(std::string_view text, char decimal);
// The same with `thousands` between groups of three digits before the decimal sign, or without.
std::optional<double> ParseGrouped(std::string_view text, char decimal, char thousands);

// What to do about a text that is no number, where it is one that people know: a decimal comma,
// thousands separators, a currency, 1.2M. Else empty.
std::string WhyNoNumber(std::string_view text, char decimal);

}  // namespace vixen::market::csv
