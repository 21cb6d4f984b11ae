// SPDX-License-Identifier: Apache-2.0
// Times as files write them: calendar texts and numbers since 1970.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vixen::market::csv {

inline constexpr int64_t kNsPerSecond = 1'000'000'000;
inline constexpr int64_t kNsPerDay = 86'400 * kNsPerSecond;
// Years whose every nanosecond fits int64.
inline constexpr int kFirstYear = 1678;
inline constexpr int kLastYear = 2261;

// A date as it was read. "1/4/1999" can be two dates: month first, and day first.
struct CalendarDate {
  // Days since 1970-01-01. Equal unless the text leaves the order open; absent when that order
  // gives no date of the calendar.
  std::optional<int32_t> month_first;
  std::optional<int32_t> day_first;
  bool order_open = false;
};

struct TimeOfDay {
  int64_t ns = 0;                         // since midnight, < kNsPerDay
  std::optional<int32_t> offset_seconds;  // east of UTC, when the text says so
};

struct CalendarTime {
  CalendarDate date;
  std::optional<TimeOfDay> time;  // absent: the text is a date only
};

// Whole texts or nothing:
//   Y-m-d Y/m/d Y.m.d · d.m.Y · m/d/Y d/m/Y m-d-Y d-m-Y (order open) · YYYYMMDD · 31-Jan-2024
//   31 January 2024 · Jan 31, 2024
std::optional<CalendarDate> ParseDate(std::string_view text);
//   H:M H:M:S H:M:S.f… (9 digits at most), each also with AM or PM · HHMM HHMMSS · then nothing, Z,
//   UTC, GMT, ±HH, ±HHMM or ±HH:MM
std::optional<TimeOfDay> ParseTimeOfDay(std::string_view text);
//   a date, or a date and a time of day with 'T' or blanks between; YYYYMMDDHHMM and YYYYMMDDHHMMSS
std::optional<CalendarTime> ParseCalendarTime(std::string_view text);
//   ±HH, ±HHMM or ±HH:MM, also after UTC or GMT; Z, UTC, GMT alone: seconds east of UTC
std::optional<int32_t> ParseOffset(std::string_view text);

enum class EpochUnit { kSeconds, kMilliseconds, kMicroseconds, kNanoseconds };
const char* EpochUnitName(EpochUnit unit);

struct EpochTime {
  int64_t ns = 0;
  EpochUnit unit = EpochUnit::kSeconds;
  bool integer = true;  // written without a decimal point
};

// Seconds (magnitude < 1e11), milliseconds (< 1e14), microseconds (< 1e17) or nanoseconds since
// 1970, with or without a fraction. Nothing outside kFirstYear … kLastYear.
std::optional<EpochTime> ParseEpoch(std::string_view text);

}  // namespace vixen::market::csv
