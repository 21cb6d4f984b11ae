// SPDX-License-Identifier: Apache-2.0
#include "market/csv/time_column.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/exit_code.h"
#include "base/status_macros.h"

namespace vixen::market::csv {
namespace {

constexpr char kOtherKind[] =
    " is another kind of time than in the rows before (epoch, date, local time, time with offset)";

constexpr char kUnderstood[] =
    " is no time that is understood: 2024-01-31, 2024-01-31 09:30:00, with Z or an offset, "
    "31.01.2024, 01/31/2024 9:30 AM, 31-Jan-2024, 20240131 093000, or seconds to nanoseconds since "
    "1970";

absl::Status Refused(const std::string& fault) { return absl::InvalidArgumentError(fault); }

}  // namespace

absl::Status TimeColumn::CheckKind(Kind kind) {
  if (kind_ == kind) return absl::OkStatus();
  if (kind_ != Kind::kUnknown) return Refused(kOtherKind);
  if (kind == Kind::kLocal && zone_ == nullptr) {
    return Refused(
        " carries no time zone: say which it is, e.g. --tz UTC, --tz America/New_York or "
        "--tz -05:00");
  }
  needs_zone_ = kind == Kind::kLocal;
  kind_ = kind;
  return absl::OkStatus();
}

absl::Status TimeColumn::AddEpoch(const EpochTime& time) {
  const bool first = kind_ == Kind::kUnknown;
  VIXEN_RETURN_IF_ERROR(CheckKind(Kind::kEpoch));
  if (first) unit_ = time.unit;
  if (time.unit != unit_) {
    return Refused(absl::StrCat(" is in ", EpochUnitName(time.unit),
                                " by its size, the rows before are in ", EpochUnitName(unit_)));
  }
  integer_ = integer_ && time.integer;
  first_.push_back(time.ns);
  return absl::OkStatus();
}

absl::Status TimeColumn::AddCalendar(const CalendarTime& time) {
  const bool offset = time.time && time.time->offset_seconds;
  VIXEN_RETURN_IF_ERROR(CheckKind(!time.time ? Kind::kDate
                                  : offset   ? Kind::kWithOffset
                                             : Kind::kLocal));
  int64_t ns = time.time ? time.time->ns : 0;
  if (offset) ns -= *time.time->offset_seconds * kNsPerSecond;
  const CalendarDate& date = time.date;
  if (date.order_open != open_order_ && !first_.empty()) return Refused(kOtherKind);
  if (!date.order_open) {
    first_.push_back(*date.month_first * kNsPerDay + ns);
    return absl::OkStatus();
  }
  open_order_ = true;
  const bool month_first = month_first_fits_ && date.month_first.has_value();
  const bool day_first = day_first_fits_ && date.day_first.has_value();
  if ((!month_first && !day_first) || (order_ == DateOrder::kMonthFirst && !date.month_first) ||
      (order_ == DateOrder::kDayFirst && !date.day_first)) {
    return Refused(absl::StrCat(
        " is no date with the ", date.month_first ? "day" : "month", " first, ",
        order_ == DateOrder::kAuto ? "as rows before ask for" : "as --date_order asks for"));
  }
  month_first_fits_ = month_first;
  day_first_fits_ = day_first;
  first_.push_back(date.month_first.value_or(0) * kNsPerDay + ns);
  second_.push_back(date.day_first.value_or(0) * kNsPerDay + ns);
  return absl::OkStatus();
}

absl::Status TimeColumn::Add(std::string_view text, std::string_view clock, bool two_columns) {
  if (two_columns) {
    const std::optional<CalendarDate> date = ParseDate(text);
    if (!date) return Refused(" is no date that is understood");
    const std::optional<TimeOfDay> time = ParseTimeOfDay(clock);
    if (!time) return Refused(" is no time of day that is understood");
    if (example_.empty()) example_ = text;
    return AddCalendar({*date, time});
  }
  // Numbers of 8, 12 and 14 digits that are dates of the calendar are taken for dates: as epoch
  // they would lie in the seventies or beyond the year 2500.
  if (kind_ != Kind::kEpoch) {
    if (const std::optional<CalendarTime> time = ParseCalendarTime(text)) {
      if (example_.empty()) example_ = text;
      return AddCalendar(*time);
    }
  }
  if (const std::optional<EpochTime> time = ParseEpoch(text)) return AddEpoch(*time);
  return Refused(kUnderstood);
}

absl::Status TimeColumn::ChooseOrder(const std::string& path) {
  if (!open_order_) return absl::OkStatus();
  if (order_ == DateOrder::kAuto && month_first_fits_ && day_first_fits_) {
    return Refused(absl::StrCat(path, ": dates such as ", Quoted(example_),
                                " can be month/day and day/month in every row: say which by "
                                "--date_order mdy or --date_order dmy"));
  }
  day_first_ = order_ == DateOrder::kDayFirst || (order_ == DateOrder::kAuto && !month_first_fits_);
  return absl::OkStatus();
}

absl::Status TimeColumn::ZoneError(const RowPlace& place, int64_t local_ns,
                                   const absl::Status& why) {
  const std::string clock =
      absl::FormatTime("%Y-%m-%d %H:%M:%E*S", absl::FromUnixNanos(local_ns), absl::UTCTimeZone());
  return Refused(absl::StrCat(place.Text(), ": time ", clock, " ", why.message()));
}

}  // namespace vixen::market::csv
