// SPDX-License-Identifier: Apache-2.0
#include "tool/report/axis.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tool/format.h"

namespace vixen::tool {
namespace {

constexpr double kSecond = 1e9;
constexpr double kDay = 86'400 * kSecond;

std::string Label(double value, double step, AxisFormat format) {
  const double shown = format == AxisFormat::kPercent ? value * 100 : value;
  const double unit = format == AxisFormat::kPercent ? step * 100 : step;
  if (std::abs(shown) < unit * 1e-6) return format == AxisFormat::kPercent ? "0 %" : "0";
  const std::string suffix = format == AxisFormat::kPercent ? " %" : "";
  const double size = std::abs(shown);
  if (format != AxisFormat::kPercent && size >= 1e6 && unit >= 1e4) {
    return absl::StrCat(Decimal(shown / 1e6, unit >= 1e6 ? 0 : unit >= 1e5 ? 1 : 2), "M");
  }
  if (unit < 1e-5 || size >= 1e9) return absl::StrFormat("%.2g", shown) + suffix;
  int digits = 0;
  for (double scaled = unit; digits < 6 && std::abs(scaled - std::round(scaled)) > 1e-6 * scaled;
       scaled *= 10) {
    ++digits;
  }
  return Decimal(shown, digits) + suffix;
}

double NiceStep(double span, int most) {
  const double rough = span / std::max(most, 1);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0, 10.0}) {
    if (factor * power >= rough * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::tm Utc(double nanoseconds) {
  const auto seconds = static_cast<std::time_t>(std::floor(nanoseconds / kSecond));
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return utc;
}

double FirstOfMonth(int year, int month) {
  std::tm utc{};
  utc.tm_year = year - 1900;
  utc.tm_mon = month;  // timegm carries months beyond 11 into the year
  utc.tm_mday = 1;
  return static_cast<double>(timegm(&utc)) * kSecond;
}

std::vector<Tick> MonthTicks(double low, double high, int months) {
  std::vector<Tick> ticks;
  const std::tm first = Utc(low);
  const int year = first.tm_year + 1900;
  int month = first.tm_mon;
  int index = year * 12 + month;
  index -= ((index % months) + months) % months;
  for (;; index += months) {
    const double at = FirstOfMonth(index / 12, index % 12);
    if (at > high) return ticks;
    if (at < low) continue;
    ticks.push_back({at, months >= 12 ? absl::StrCat(index / 12)
                                      : absl::StrFormat("%d-%02d", index / 12, index % 12 + 1)});
  }
}

std::string TimeLabel(double at, double step) {
  const std::tm utc = Utc(at);
  if (step >= kDay || (utc.tm_hour == 0 && utc.tm_min == 0)) {
    return absl::StrFormat("%d-%02d-%02d", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
  }
  return absl::StrFormat("%02d:%02d", utc.tm_hour, utc.tm_min);
}

}  // namespace

std::vector<Tick> LinearTicks(double low, double high, int most, AxisFormat format) {
  if (!(high > low)) return {{low, Label(low, std::max(std::abs(low), 1.0), format)}};
  double step = NiceStep(high - low, most);
  if (format == AxisFormat::kCount) step = std::max(step, 1.0);
  std::vector<Tick> ticks;
  for (auto i = static_cast<int64_t>(std::ceil(low / step - 1e-9));; ++i) {
    const double value = static_cast<double>(i) * step;
    if (value > high + step * 1e-9) return ticks;
    ticks.push_back({value, Label(value, step, format)});
  }
}

std::vector<Tick> LogTicks(double low, double high, int most, AxisFormat format) {
  if (high / low < 20) return LinearTicks(low, high, most, format);
  std::vector<Tick> ticks;
  const double decades = std::log10(high / low);
  const int stride = std::max(1, static_cast<int>(std::ceil(decades / most)));
  const auto first = static_cast<int>(std::floor(std::log10(low)));
  const auto last = static_cast<int>(std::ceil(std::log10(high)));
  for (int decade = first; decade <= last; decade += stride) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor != 1 && decades * 3 > most) continue;
      const double value = factor * std::pow(10.0, decade);
      if (value < low || value > high) continue;
      ticks.push_back({value, Label(value, value, format)});
    }
  }
  return ticks;
}

std::vector<Tick> TimeTicks(double low, double high, int most) {
  if (!(high > low)) return {{low, Time(static_cast<int64_t>(low))}};
  const double rough = (high - low) / std::max(most, 1);
  for (const double seconds : {60., 300., 600., 900., 1800., 3600., 7200., 10800., 21600., 43200.,
                               86400., 172800., 432000., 604800., 1209600.}) {
    const double step = seconds * kSecond;
    if (step < rough) continue;
    std::vector<Tick> ticks;
    const auto last = static_cast<int64_t>(std::floor(high / step));
    for (auto i = static_cast<int64_t>(std::ceil(low / step)); i <= last; ++i) {
      const double at = static_cast<double>(i) * step;
      ticks.push_back({at, TimeLabel(at, step)});
    }
    return ticks;
  }
  for (const int months : {1, 2, 3, 6, 12, 24, 60, 120, 240}) {
    if (months * 30.44 * kDay >= rough) return MonthTicks(low, high, months);
  }
  return MonthTicks(low, high, 600);
}

}  // namespace vixen::tool
