// SPDX-License-Identifier: Apache-2.0
#include "market/csv/number.h"

#include <charconv>
#include <cmath>
#include <system_error>

namespace vixen::market::csv {
namespace {

std::optional<double> ParsePlain(const char* begin, const char* end) {
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
  char plain[kLongest];
  for (size_t i = 0; i < text.size(); ++i) plain[i] = text[i] == decimal ? '.' : text[i];
  return ParsePlain(plain, plain + text.size());
}

}  // namespace vixen::market::csv
