// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace vixen::market::csv {

// A decimal number that fills the whole text: digits, at most one decimal sign, an exponent.
// Nothing else is a number: no thousands separators, "N/A", hexadecimal, "inf" or "nan". Rounded
// correctly.
std::optional<double> ParseNumber(std::string_view text, char decimal);

}  // namespace vixen::market::csv
