// SPDX-License-Identifier: Apache-2.0
#include "market/csv/calendar.h"

#include <algorithm>
#include <chrono>

namespace vixen::market::csv {
namespace {

struct Digits {
  int64_t value = 0;
  int count = 0;
};

// Takes decimal digits off the front, 18 at most.
Digits TakeDigits(std::string_view& text) {
  Digits digits;
  while (digits.count < 18 && digits.count < static_cast<int>(text.size())) {
    const unsigned digit = static_cast<unsigned char>(text[digits.count]) - '0';
    if (digit > 9) break;
    digits.value = digits.value * 10 + digit;
    ++digits.count;
  }
  text.remove_prefix(digits.count);
  return digits;
}

bool Take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

void TakeBlanks(std::string_view& text) {
  while (Take(text, ' ')) {
  }
}

std::optional<int32_t> DayNumber(int64_t year, int64_t month, int64_t day) {
  if (year < kFirstYear || year > kLastYear) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (month > 12 || day > 31 || !date.ok()) return std::nullopt;
  return static_cast<int32_t>(std::chrono::sys_days(date).time_since_epoch().count());
}

std::optional<CalendarDate> Certain(std::optional<int32_t> day) {
  if (!day) return std::nullopt;
  return CalendarDate{day, day, false};
}

char LowerCase(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// "Jan", "january", …: 1 … 12; 0 when the text begins otherwise, which is then left.
int TakeMonthName(std::string_view& text) {
  constexpr std::string_view kMonths[] = {"january",   "february", "march",    "april",
                                          "may",       "june",     "july",     "august",
                                          "september", "october",  "november", "december"};
  const auto begins = [&text](std::string_view name) {
    return text.size() >= name.size() &&
           std::equal(name.begin(), name.end(), text.begin(),
                      [](char a, char b) { return a == LowerCase(b); });
  };
  for (int month = 0; month < 12; ++month) {
    for (const std::string_view name : {kMonths[month], kMonths[month].substr(0, 3)}) {
      if (!begins(name)) continue;
      text.remove_prefix(name.size());
      return month + 1;
    }
  }
  return 0;
}

// After "31" of 31-Jan-2024 and 31 Jan 2024.
std::optional<CalendarDate> TakeNamedMonth(int64_t day, char separator, std::string_view& text) {
  const int month = TakeMonthName(text);
  if (month == 0 || !Take(text, separator)) return std::nullopt;
  const Digits year = TakeDigits(text);
  return year.count == 4 ? Certain(DayNumber(year.value, month, day)) : std::nullopt;
}

// Jan 31, 2024 and Jan 31 2024.
std::optional<CalendarDate> TakeMonthFirst(std::string_view& text) {
  const int month = TakeMonthName(text);
  if (month == 0) return std::nullopt;
  TakeBlanks(text);
  const Digits day = TakeDigits(text);
  const bool comma = Take(text, ',');
  if (day.count < 1 || day.count > 2 || (!Take(text, ' ') && !comma)) return std::nullopt;
  const Digits year = TakeDigits(text);
  return year.count == 4 ? Certain(DayNumber(year.value, month, day.value)) : std::nullopt;
}

std::optional<CalendarDate> TakeDate(std::string_view& text) {
  const Digits first = TakeDigits(text);
  if (first.count == 8) {
    return Certain(DayNumber(first.value / 10000, first.value / 100 % 100, first.value % 100));
  }
  if (first.count == 0) return TakeMonthFirst(text);
  const bool year_first = first.count == 4;
  if ((!year_first && first.count != 1 && first.count != 2) || text.empty()) return std::nullopt;
  const char separator = text.front();
  if (separator != '-' && separator != '/' && separator != '.' && separator != ' ') {
    return std::nullopt;
  }
  text.remove_prefix(1);
  const Digits second = TakeDigits(text);
  if (second.count == 0 && !year_first) return TakeNamedMonth(first.value, separator, text);
  if (separator == ' ') return std::nullopt;
  if (second.count < 1 || second.count > 2 || !Take(text, separator)) return std::nullopt;
  const Digits third = TakeDigits(text);
  if (year_first) {
    if (third.count < 1 || third.count > 2) return std::nullopt;
    return Certain(DayNumber(first.value, second.value, third.value));
  }
  if (third.count != 4) return std::nullopt;
  const std::optional<int32_t> day_first = DayNumber(third.value, second.value, first.value);
  if (separator == '.') return Certain(day_first);
  const std::optional<int32_t> month_first = DayNumber(third.value, first.value, second.value);
  if (!day_first && !month_first) return std::nullopt;
  return CalendarDate{month_first, day_first, true};
}

// ".5" and the like: ns. Nothing for an empty fraction or more than nine digits.
std::optional<int64_t> TakeFraction(std::string_view& text) {
  Digits digits = TakeDigits(text);
  if (digits.count < 1 || digits.count > 9) return std::nullopt;
  for (; digits.count < 9; ++digits.count) digits.value *= 10;
  return digits.value;
}

std::optional<TimeOfDay> TimeFrom(int64_t hour, int64_t minute, int64_t second, int64_t ns) {
  if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return TimeOfDay{((hour * 60 + minute) * 60 + second) * kNsPerSecond + ns, std::nullopt};
}

std::optional<TimeOfDay> TakeClock(std::string_view& text) {
  const Digits hour = TakeDigits(text);
  if (hour.count == 6 || hour.count == 4) {
    const int64_t hhmmss = hour.count == 6 ? hour.value : hour.value * 100;
    std::optional<int64_t> ns = 0;
    if (hour.count == 6 && Take(text, '.')) ns = TakeFraction(text);
    if (!ns) return std::nullopt;
    return TimeFrom(hhmmss / 10000, hhmmss / 100 % 100, hhmmss % 100, *ns);
  }
  if (hour.count < 1 || hour.count > 2 || !Take(text, ':')) return std::nullopt;
  const Digits minute = TakeDigits(text);
  if (minute.count != 2) return std::nullopt;
  Digits second;
  std::optional<int64_t> ns = 0;
  if (Take(text, ':')) {
    second = TakeDigits(text);
    if (second.count != 2) return std::nullopt;
    if (Take(text, '.')) ns = TakeFraction(text);
  }
  if (!ns) return std::nullopt;
  return TimeFrom(hour.value, minute.value, second.value, *ns);
}

// 9:30 AM, 12:00PM: the clock as it was read becomes one of 24 hours.
bool TakeHalfOfDay(std::string_view& text, TimeOfDay& time) {
  if (text.size() < 2 || LowerCase(text[1]) != 'm') return true;
  const char half = LowerCase(text[0]);
  if (half != 'a' && half != 'p') return true;
  text.remove_prefix(2);
  constexpr int64_t kHour = 3'600 * kNsPerSecond;
  const int64_t hour = time.ns / kHour;
  if (hour < 1 || hour > 12) return false;
  if (hour == 12) time.ns -= 12 * kHour;
  if (half == 'p') time.ns += 12 * kHour;
  return true;
}

}  // namespace

std::optional<int32_t> ParseOffset(std::string_view text) {
  if (text == "Z" || text == "z" || text == "UTC" || text == "GMT") return 0;
  if (text.starts_with("UTC") || text.starts_with("GMT")) text.remove_prefix(3);
  const bool west = Take(text, '-');
  if (!west && !Take(text, '+')) return std::nullopt;
  Digits hours = TakeDigits(text);
  int64_t minutes = 0;
  if (hours.count == 4) {
    minutes = hours.value % 100;
    hours.value /= 100;
  } else if (hours.count != 2) {
    return std::nullopt;
  } else if (Take(text, ':')) {
    const Digits digits = TakeDigits(text);
    if (digits.count != 2) return std::nullopt;
    minutes = digits.value;
  }
  if (!text.empty() || hours.value > 15 || minutes > 59) return std::nullopt;
  const int32_t seconds = static_cast<int32_t>((hours.value * 60 + minutes) * 60);
  return west ? -seconds : seconds;
}

std::optional<CalendarDate> ParseDate(std::string_view text) {
  const std::optional<CalendarDate> date = TakeDate(text);
  return text.empty() ? date : std::nullopt;
}

std::optional<TimeOfDay> ParseTimeOfDay(std::string_view text) {
  std::optional<TimeOfDay> time = TakeClock(text);
  if (!time || text.empty()) return time;
  TakeBlanks(text);
  if (!TakeHalfOfDay(text, *time)) return std::nullopt;
  if (text.empty()) return time;
  TakeBlanks(text);
  time->offset_seconds = ParseOffset(text);
  return time->offset_seconds ? time : std::nullopt;
}

std::optional<CalendarTime> ParseCalendarTime(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  CalendarTime result;
  std::string_view clock;
  if (digits == text.size() && (digits == 12 || digits == 14)) {
    clock = text.substr(8);
    text = text.substr(0, 8);
  }
  const std::optional<CalendarDate> date = TakeDate(text);
  if (!date) return std::nullopt;
  result.date = *date;
  if (clock.empty()) {
    if (text.empty()) return result;
    if (text.front() != 'T' && text.front() != 't' && text.front() != ' ') return std::nullopt;
    text.remove_prefix(1);
    TakeBlanks(text);
    clock = text;
  }
  result.time = ParseTimeOfDay(clock);
  return result.time ? std::optional(result) : std::nullopt;
}

const char* EpochUnitName(EpochUnit unit) {
  constexpr const char* kNames[] = {"seconds", "milliseconds", "microseconds", "nanoseconds"};
  return kNames[static_cast<int>(unit)];
}

std::optional<EpochTime> ParseEpoch(std::string_view text) {
  const bool negative = Take(text, '-');
  const size_t length = std::min(text.find_first_not_of("0123456789"), text.size());
  if (length < 1 || length > 19) return std::nullopt;
  uint64_t whole = 0;
  for (size_t i = 0; i < length; ++i) whole = whole * 10 + static_cast<uint64_t>(text[i] - '0');
  text.remove_prefix(length);

  EpochTime time;
  uint64_t scale = kNsPerSecond;
  for (uint64_t bound = 100'000'000'000; whole >= bound && scale > 1; bound *= 1000) {
    scale /= 1000;
    time.unit = static_cast<EpochUnit>(static_cast<int>(time.unit) + 1);
  }
  int64_t fraction_ns = 0;
  if (Take(text, '.')) {
    time.integer = false;
    const std::optional<int64_t> fraction = TakeFraction(text);
    if (!fraction) return std::nullopt;
    fraction_ns = *fraction / (kNsPerSecond / static_cast<int64_t>(scale));
  }
  // About the span of int64 nanoseconds: 1677-09-21 to 2262-04-11.
  constexpr uint64_t kMost = uint64_t{9'223'372'036} * kNsPerSecond;
  if (!text.empty() || whole > (kMost - kNsPerSecond) / scale) return std::nullopt;
  time.ns = static_cast<int64_t>(whole * scale) + fraction_ns;
  if (negative) time.ns = -time.ns;
  return time;
}

}  // namespace vixen::market::csv
