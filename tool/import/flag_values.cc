// SPDX-License-Identifier: Apache-2.0
#include "tool/import/flag_values.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/exit_code.h"

namespace vixen::tool {
namespace {

absl::Status Refused(const std::string& flag, const std::string& text, const char* accepted) {
  return base::UsageError(absl::StrCat(flag, " ", text, ": give ", accepted));
}

}  // namespace

absl::StatusOr<int64_t> ParseDuration(const std::string& flag, const std::string& text) {
  absl::Duration duration;
  double days = 0;
  if (absl::EndsWith(text, "d") && absl::SimpleAtod(text.substr(0, text.size() - 1), &days)) {
    duration = days * absl::Hours(24);
  } else if (!absl::ParseDuration(text, &duration)) {
    return Refused(flag, text, "a duration such as 90m, 72h or 3d");
  }
  if (duration <= absl::ZeroDuration() || duration > absl::Hours(24 * 36'500)) {
    return Refused(flag, text, "a duration above 0 and up to 100 years");
  }
  return absl::ToInt64Nanoseconds(duration);
}

absl::StatusOr<market::BarRange> ParseRange(const std::string& flag, const std::string& text) {
  const std::vector<std::string> ends = absl::StrSplit(text, ':');
  market::BarRange range;
  if (ends.size() != 2 || !absl::SimpleAtoi(ends[0], &range.begin) ||
      !absl::SimpleAtoi(ends[1], &range.end) || range.begin >= range.end) {
    return Refused(flag, text, "a range of rows A:B with A below B");
  }
  return range;
}

absl::StatusOr<market::SplitPoint> ParseSplit(const std::string& text) {
  market::SplitPoint split;
  if (absl::SimpleAtod(text, &split.share)) {
    if (split.share > 0 && split.share < 1) return split;
    return Refused("--split", text, "a share between 0 and 1, or a time");
  }
  absl::Time time;
  std::string error;
  if (!absl::ParseTime("%Y-%m-%d", text, &time, &error) &&
      !absl::ParseTime(absl::RFC3339_full, text, &time, &error)) {
    return Refused("--split", text,
                   "a share such as 0.8, a date (midnight UTC), or a time with its zone such as "
                   "2024-01-02T14:30:00Z");
  }
  split.time_ns = absl::ToUnixNanos(time);
  return split;
}

absl::StatusOr<std::map<std::string, std::string>> ParseColumns(
    const std::vector<std::string>& texts) {
  std::map<std::string, std::string> columns;
  for (const std::string& text : texts) {
    const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    if (parts.size() != 2 || parts[0].empty() || !columns.emplace(parts[0], parts[1]).second) {
      return Refused("--columns", text, "ROLE=NAME once a role, such as time=Datum,open=Eröffnung");
    }
  }
  return columns;
}

absl::StatusOr<char> ParseDelimiter(const std::string& text) {
  if (text == "tab" || text == "\\t") return '\t';
  if (text.size() == 1 && text != "\"" && text != "\n") return text[0];
  return Refused("--delimiter", text, "one character, or tab");
}

}  // namespace vixen::tool
