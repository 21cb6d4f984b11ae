// SPDX-License-Identifier: Apache-2.0
#include "market/csv/number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>

namespace vixen::market::csv {
namespace {

// Up to 15 digits with or without a point: the digits are an exact integer and the power of ten is
// exact, so their quotient is the correctly rounded value. About three times faster than
// from_chars.
std::optional<double> ParseShort(const char* begin, const char* end) {
  constexpr double kPowers[] = {1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  if (begin == end || end - begin > 16) return std::nullopt;
  uint64_t digits = 0;
  int count = 0, after_point = -1;
  for (const char* c = begin; c < end; ++c) {
    const unsigned digit = static_cast<unsigned char>(*c) - '0';
    if (digit <= 9) {
      digits = digits * 10 + digit;
      ++count;
      after_point += after_point >= 0;
    } else if (*c == '.' && after_point < 0) {
      after_point = 0;
    } else {
      return std::nullopt;
    }
  }
  if (count == 0 || count > 15) return std::nullopt;
  return static_cast<double>(digits) / kPowers[after_point < 0 ? 0 : after_point];
}

std::optional<double> ParsePlain(const char* begin, const char* end) {
  if (const std::optional<double> value = ParseShort(begin, end)) return value;
  double value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<double> ParseNumber(std::string_view text, char decimal) {
  if (decimal == '.') return ParsePlain(text.data(), text.data() + text.size());
  constexpr size_t kLongest = 64;
  if (text.size() > kLongest || text.find('.') != std::string_view::npos) return std::nullopt;
  char plain[kLongest] = {};
  for (size_t i = 0; i < text.size(); ++i) plain[i] = text[i] == decimal ? '.' : text[i];
  return ParsePlain(plain, plain + text.size());
}

std::optional<double> ParseGrouped(std::string_view text, char decimal, char thousands) {
  if (thousands == 0 || text.find(thousands) == text.npos) return ParseNumber(text, decimal);
  std::string plain(text.substr(0, text.starts_with('-') ? 1 : 0));
  const std::string_view whole = text.substr(plain.size(), text.find(decimal) - plain.size());
  for (size_t begin = 0; begin <= whole.size();) {
    const size_t end = std::min(whole.find(thousands, begin), whole.size());
    const size_t digits = end - begin;
    if (begin == 0 ? digits < 1 || digits > 3 : digits != 3) return std::nullopt;
    const std::string_view group = whole.substr(begin, digits);
    if (group.find_first_not_of("0123456789") != group.npos) return std::nullopt;
    plain += group;
    begin = end + 1;
  }
  const std::string_view rest = text.substr(std::min(text.find(decimal), text.size()));
  if (rest.find(thousands) != rest.npos) return std::nullopt;
  return ParseNumber(plain.append(rest), decimal);
}

std::string WhyNoNumber(std::string_view text, char decimal) {
  constexpr std::string_view kDigits = "0123456789";
  if (text.find_first_of(kDigits) == text.npos) return "";
  if (decimal == ',' && ParsePlain(text.data(), text.data() + text.size())) {
    return "with a decimal point: leave --decimal , out";
  }
  const auto commas = std::ranges::count(text, ',');
  const bool point = text.find('.') != text.npos;
  if (decimal == '.' && commas == 1 && !point && ParseNumber(text, ',')) {
    // 1,234 may be either.
    const bool thousands = text.size() - text.find(',') == 4;
    return thousands ? "a decimal comma: --decimal ,; a thousands separator: --thousands ,"
                     : "with a decimal comma: --decimal ,";
  }
  if (text.find_first_not_of("0123456789.,' -+\xA0\xC2\xAF\xE2\x80") == text.npos &&
      (commas > 0 || point || text.find_first_of("' \xA0\xAF") != text.npos)) {
    return "thousands separators: --thousands names them";
  }
  const size_t last = text.find_last_of(kDigits), first = text.find_first_of(kDigits);
  const std::string_view tail = text.substr(last + 1);
  if (tail.size() == 1 && std::string_view("KkMmBbTt%").find(tail[0]) != tail.npos) {
    return "export whole numbers, without the letter";
  }
  if (first > 0 || !tail.empty()) return "export numbers only, without a unit or currency";
  return "";
}

}  // namespace vixen::market::csv
