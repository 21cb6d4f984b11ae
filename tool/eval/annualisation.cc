// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/annualisation.h"

#include <map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/exit_code.h"
#include "tool/format.h"

namespace vixen::tool {
namespace {

constexpr double kDaySeconds = 86'400;
constexpr double kYearSeconds = 365.25 * kDaySeconds;

struct CalendarYear {
  double days;
  double minutes;  // a day
};

CalendarYear YearOf(Calendar calendar) {
  switch (calendar) {
    case Calendar::kEquity:
      return {252, 390};
    case Calendar::kFx:
      return {260, 1440};
    case Calendar::kFutures:
      return {252, 1380};
    case Calendar::k24x7:
      break;
  }
  return {365, 1440};
}

// Parts that follow each other in time count once from first to last bar, nights and weekends
// included; parts that begin before the one before them ended (several instruments) count one by
// one.
double SpanSeconds(std::span<const int64_t> times) {
  double span = 0;
  size_t begin = 0;
  for (size_t i = 1; i <= times.size(); ++i) {
    if (i < times.size() && times[i] >= times[i - 1]) continue;
    span += static_cast<double>(times[i - 1] - times[begin]) / 1e9;
    begin = i;
  }
  return span;
}

double MostFrequentDistance(std::span<const int64_t> times, std::span<const uint8_t> last) {
  std::map<int64_t, uint64_t> counts;
  for (size_t i = 0; i + 1 < times.size(); ++i) {
    if (!last[i] && times[i + 1] > times[i]) ++counts[times[i + 1] - times[i]];
  }
  int64_t best = 0;
  uint64_t most = 0;
  for (const auto& [distance, count] : counts) {
    if (count > most) {
      most = count;
      best = distance;
    }
  }
  return static_cast<double>(best) / 1e9;
}

}  // namespace

absl::StatusOr<Calendar> ParseCalendar(const std::string& name) {
  for (const Calendar calendar :
       {Calendar::k24x7, Calendar::kEquity, Calendar::kFx, Calendar::kFutures}) {
    if (name == CalendarName(calendar)) return calendar;
  }
  return base::UsageError(absl::StrCat("--calendar ", name, ": one of 24x7, equity, fx, futures"));
}

std::string CalendarName(Calendar calendar) {
  switch (calendar) {
    case Calendar::kEquity:
      return "equity";
    case Calendar::kFx:
      return "fx";
    case Calendar::kFutures:
      return "futures";
    case Calendar::k24x7:
      break;
  }
  return "24x7";
}

Annualisation ChooseAnnualisation(std::span<const int64_t> times, std::span<const uint8_t> last,
                                  uint64_t steps, Calendar calendar) {
  Annualisation result;
  result.bar_seconds = MostFrequentDistance(times, last);
  result.years = SpanSeconds(times) / kYearSeconds;
  if (result.years >= 1) {
    result.steps_a_year = static_cast<double>(steps) / result.years;
    result.how = absl::StrFormat("measured: %s steps in %.2f years", Count(steps), result.years);
    return result;
  }
  const CalendarYear year = YearOf(calendar);
  const double bar = result.bar_seconds > 0 ? result.bar_seconds : kDaySeconds;
  result.steps_a_year =
      bar >= kDaySeconds ? year.days / (bar / kDaySeconds) : year.days * year.minutes * 60 / bar;
  result.how = absl::StrCat("calendar ", CalendarName(calendar), ", bars of ", Duration(bar));
  return result;
}

}  // namespace vixen::tool
