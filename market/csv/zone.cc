// SPDX-License-Identifier: Apache-2.0
#include "market/csv/zone.h"

#include "absl/strings/str_cat.h"
#include "base/exit_code.h"
#include "market/csv/calendar.h"

namespace vixen::market::csv {
namespace {

int64_t FloorDivide(int64_t value, int64_t by) { return value / by - (value % by < 0 ? 1 : 0); }

// The reading of the local clock, rounded down to the second.
absl::CivilSecond ClockReading(int64_t local_ns) {
  return absl::CivilSecond(1970, 1, 1) + FloorDivide(local_ns, kNsPerSecond);
}

}  // namespace

absl::StatusOr<Zone> Zone::Parse(const std::string& text) {
  if (const std::optional<int32_t> offset = ParseOffset(text)) {
    return Zone(*offset == 0 ? "UTC" : text, absl::FixedTimeZone(*offset));
  }
  absl::TimeZone zone;
  // absl also takes names such as "Fixed/UTC+05:00:00" and files by path.
  const bool plain = !text.empty() && text.front() != '/' && text.front() != ':' &&
                     text.find("..") == std::string::npos;
  if (!plain || !absl::LoadTimeZone(text, &zone)) {
    return base::UsageError(
        absl::StrCat("--tz ", text,
                     " is no time zone: give an IANA name such as America/New_York (needs the "
                     "system's tzdata), UTC, or an offset such as -05:00"));
  }
  return Zone(text, zone);
}

absl::StatusOr<int64_t> Zone::ToUtc(int64_t local_ns) {
  const int64_t day = FloorDivide(local_ns, kNsPerDay);
  if (day == day_) return local_ns - offset_ns_;

  const absl::TimeZone::TimeInfo info = zone_.At(ClockReading(local_ns));
  if (info.kind == absl::TimeZone::TimeInfo::SKIPPED) {
    return absl::InvalidArgumentError(
        absl::StrCat("does not exist in ", name_,
                     ": the clocks went forward over it; give times with an offset "
                     "or the zone in which the file was written"));
  }
  if (info.kind == absl::TimeZone::TimeInfo::REPEATED) {
    return absl::InvalidArgumentError(
        absl::StrCat("is ambiguous in ", name_,
                     ": the clocks went back and it occurred twice; give times with "
                     "an offset or the zone in which the file was written"));
  }
  const int64_t offset_ns = int64_t{zone_.At(info.pre).offset} * kNsPerSecond;
  // A day without a clock change anywhere near it has one offset: remember that.
  const absl::CivilSecond midnight = ClockReading(day * kNsPerDay);
  absl::TimeZone::CivilTransition change;
  if (!zone_.NextTransition(info.pre - absl::Hours(48), &change) ||
      (change.from > midnight + 2 * 86400 && change.to > midnight + 2 * 86400)) {
    day_ = day;
    offset_ns_ = offset_ns;
  }
  return local_ns - offset_ns;
}

}  // namespace vixen::market::csv
