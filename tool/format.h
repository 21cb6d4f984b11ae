// SPDX-License-Identifier: Apache-2.0
// Numbers, times and sizes as people read them, the same in terminal and report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vixen::tool {

// 1,234,567
std::string Count(uint64_t value);
// Thousands separators and a true minus sign: −1,234.50
std::string Decimal(double value, int digits);
// 0.0276 → "2.76 %"; with `sign`, "+2.76 %". More digits for small shares, so that none shows as 0.
std::string Percent(double share, bool sign = false);
// Four significant digits without exponent where that is short: 0.001234, 12.34, 1.2e+09.
std::string Significant(double value, int digits = 4);
// 2024-03-01 09:30:00Z; the seconds are left out when they are 0, the time when it is midnight.
std::string Time(int64_t nanoseconds);
std::string Date(int64_t nanoseconds);
// 60 → "1 min", 3600 → "1 h", 86400 → "1 day", 90 → "90 s".
std::string Duration(double seconds);
// 1.5 MiB
std::string Bytes(uint64_t bytes);
// For XML and HTML text and double-quoted attributes. Control characters and bytes that are not
// UTF-8 become U+FFFD.
std::string EscapeMarkup(std::string_view text);
// "1 trade", "2 trades"
std::string Plural(uint64_t count, std::string_view noun);

}  // namespace vixen::tool
