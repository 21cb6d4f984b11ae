// SPDX-License-Identifier: Apache-2.0
#include "tool/format.h"

#include <cmath>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace vixen::tool {
namespace {

constexpr char kMinus[] = "\u2212";

std::string Grouped(std::string digits) {
  const size_t point = digits.find('.');
  for (size_t at = point == std::string::npos ? digits.size() : point; at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::tm UtcOf(int64_t nanoseconds, int64_t& fraction) {
  int64_t seconds = nanoseconds / 1'000'000'000;
  fraction = nanoseconds % 1'000'000'000;
  if (fraction < 0) {
    fraction += 1'000'000'000;
    --seconds;
  }
  const std::time_t time = seconds;
  std::tm utc{};
  gmtime_r(&time, &utc);
  return utc;
}

// Length of the well-formed UTF-8 sequence at the start of `text`, 0 when there is none.
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead < 0x80                   ? 1
                        : lead >= 0xC2 && lead < 0xE0 ? 2
                        : lead >= 0xE0 && lead < 0xF0 ? 3
                        : lead >= 0xF0 && lead < 0xF5 ? 4
                                                      : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;
  if (lead == 0xED && byte(1) > 0x9F) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

}  // namespace

std::string Count(uint64_t value) { return Grouped(absl::StrCat(value)); }

std::string Decimal(double value, int digits) {
  if (!std::isfinite(value)) return "n/a";
  std::string text = Grouped(absl::StrFormat("%.*f", digits, std::abs(value)));
  const bool zero = text.find_first_not_of("0.,") == std::string::npos;
  return std::signbit(value) && !zero ? absl::StrCat(kMinus, text) : text;
}

std::string Percent(double share, bool sign) {
  if (!std::isfinite(share)) return "n/a";
  const double size = std::abs(share) * 100;
  if (size >= 1e7)
    return absl::StrCat(sign && share > 0 ? "+" : "", Significant(share * 100), " %");
  const int digits = size < 1e-6 || size >= 0.1 ? 2 : size >= 0.001 ? 4 : 6;
  return absl::StrCat(sign && share > 0 ? "+" : "", Decimal(share * 100, digits), " %");
}

std::string Significant(double value, int digits) {
  if (!std::isfinite(value)) return "n/a";
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size >= 1e9 || size < 1e-6) return absl::StrFormat("%.*e", digits - 1, value);
  const int whole = static_cast<int>(std::floor(std::log10(size))) + 1;
  return Decimal(value, std::max(digits - whole, 0));
}

std::string Time(int64_t nanoseconds) {
  int64_t fraction = 0;
  const std::tm utc = UtcOf(nanoseconds, fraction);
  std::string text = Date(nanoseconds);
  if (utc.tm_hour == 0 && utc.tm_min == 0 && utc.tm_sec == 0 && fraction == 0) return text;
  absl::StrAppendFormat(&text, " %02d:%02d", utc.tm_hour, utc.tm_min);
  if (utc.tm_sec != 0 || fraction != 0) absl::StrAppendFormat(&text, ":%02d", utc.tm_sec);
  return text + "Z";
}

std::string Date(int64_t nanoseconds) {
  int64_t fraction = 0;
  const std::tm utc = UtcOf(nanoseconds, fraction);
  return absl::StrFormat("%04d-%02d-%02d", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

std::string Duration(double seconds) {
  const auto whole = [&](double unit) { return std::fmod(seconds, unit) == 0 && seconds >= unit; };
  if (whole(86'400)) {
    const double days = seconds / 86'400;
    return absl::StrFormat(days == 1 ? "%.0f day" : "%.0f days", days);
  }
  if (whole(3'600)) return absl::StrFormat("%.0f h", seconds / 3'600);
  if (whole(60)) return absl::StrFormat("%.0f min", seconds / 60);
  return absl::StrFormat("%g s", seconds);
}

std::string Bytes(uint64_t bytes) {
  static constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto size = static_cast<double>(bytes);
  size_t unit = 0;
  while (size >= 1024 && unit + 1 < std::size(kUnits)) {
    size /= 1024;
    ++unit;
  }
  return absl::StrFormat(unit == 0 ? "%.0f %s" : "%.1f %s", size, kUnits[unit]);
}

std::string EscapeMarkup(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const char c = text[0];
    if (length == 0 ||
        (length == 1 && static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t')) {
      escaped += "\uFFFD";
    } else if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (c == '\'') {
      escaped += "&#39;";
    } else {
      escaped += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return escaped;
}

std::string Plural(uint64_t count, std::string_view noun) {
  return absl::StrCat(Count(count), " ", std::string(noun), count == 1 ? "" : "s");
}

}  // namespace vixen::tool
