// SPDX-License-Identifier: Apache-2.0
#include "market/format.h"

#include <charconv>
#include <cmath>

#include "absl/time/time.h"

namespace vixen::market {
namespace {

template <typename T>
std::string Shortest(T value) {
  if (std::isnan(value)) return "nan";
  char text[64];
  const std::to_chars_result result = std::to_chars(text, text + sizeof text, value);
  return std::string(text, result.ptr);
}

}  // namespace

std::string FormatValue(double value) { return Shortest(value); }
std::string FormatValue(float value) { return Shortest(value); }

std::string FormatUtc(int64_t ns) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ", absl::FromUnixNanos(ns), absl::UTCTimeZone());
}

}  // namespace vixen::market
