// SPDX-License-Identifier: Apache-2.0
#include "market/session.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/exit_code.h"
#include "base/status_macros.h"
#include "market/csv/calendar.h"
#include "market/csv/zone.h"
#include "market/format.h"

namespace vixen::market {
namespace {

constexpr int64_t kDay = csv::kNsPerDay;
constexpr int64_t kQuarter = 900 * csv::kNsPerSecond;

int64_t Floor(int64_t value, int64_t by) { return value / by - (value % by < 0 ? 1 : 0); }

}  // namespace

absl::StatusOr<Session> Session::Parse(const std::string& hours, const std::string& zone) {
  Session session;
  session.text_ = absl::StrCat(hours, " ", zone);
  const size_t dash = hours.find('-');
  std::optional<csv::TimeOfDay> open, close;
  if (dash != std::string::npos) {
    open = csv::ParseTimeOfDay(hours.substr(0, dash));
    close = csv::ParseTimeOfDay(hours.substr(dash + 1));
  }
  if (!open || !close || open->offset_seconds || close->offset_seconds) {
    return base::UsageError(absl::StrCat("--session ", hours,
                                         ": give the clock's open and close, such as 09:30-16:00"));
  }
  session.open_ = open->ns;
  session.close_ = close->ns > open->ns ? close->ns : close->ns + kDay;
  if (const std::optional<int32_t> offset = csv::ParseOffset(zone)) {
    session.zone_ = absl::FixedTimeZone(*offset);
    return session;
  }
  VIXEN_RETURN_IF_ERROR(csv::Zone::Parse(zone).status());
  absl::LoadTimeZone(zone, &session.zone_);
  return session;
}

int64_t Session::OffsetAt(int64_t utc_ns) {
  const int64_t quarter = Floor(utc_ns, kQuarter);
  if (quarter != quarter_) {
    quarter_ = quarter;
    offset_ = int64_t{zone_.At(absl::FromUnixNanos(utc_ns)).offset} * csv::kNsPerSecond;
  }
  return offset_;
}

int64_t Session::UtcOf(int64_t local_ns) {
  const absl::CivilSecond reading =
      absl::CivilSecond(1970, 1, 1) + Floor(local_ns, csv::kNsPerSecond);
  return absl::ToUnixNanos(absl::FromCivil(reading, zone_)) +
         (local_ns - Floor(local_ns, csv::kNsPerSecond) * csv::kNsPerSecond);
}

std::optional<Session::Place> Session::At(int64_t utc_ns) {
  const int64_t local = utc_ns + OffsetAt(utc_ns);
  const int64_t today = Floor(local, kDay), clock = local - today * kDay;
  // The session that opened today, or yesterday's that is still open.
  int64_t day = today;
  if (clock < open_ || clock >= close_) {
    if (clock + kDay >= close_) return std::nullopt;
    day = today - 1;
  }
  return Place{day, UtcOf(day * kDay + open_), UtcOf(day * kDay + close_)};
}

void KeepBars(const std::vector<uint8_t>& keep, Bars& bars) {
  size_t to = 0;
  size_t instrument = 0;
  bool cut = false;  // bars were left out since the last kept one, and with them a segment's end
  for (size_t bar = 0; bar < bars.size(); ++bar) {
    while (instrument < bars.instruments.size() && bars.instruments[instrument].begin <= bar) {
      bars.instruments[instrument++].begin = to;
    }
    if (keep[bar] == 0) {
      cut |= bars.last[bar] != 0;
      if (cut && to > 0) bars.last[to - 1] = 1;
      continue;
    }
    cut = false;
    bars.timestamp[to] = bars.timestamp[bar];
    bars.open[to] = bars.open[bar];
    bars.high[to] = bars.high[bar];
    bars.low[to] = bars.low[bar];
    bars.close[to] = bars.close[bar];
    bars.volume[to] = bars.volume[bar];
    bars.last[to] = bars.last[bar];
    ++to;
  }
  bars.timestamp.resize(to);
  for (auto* column : {&bars.open, &bars.high, &bars.low, &bars.close, &bars.volume}) {
    column->resize(to);
  }
  bars.last.resize(to);
  if (to > 0) bars.last.back() = 1;
}

absl::Status ApplySession(Session& session, bool cut, Bars& bars) {
  std::vector<uint8_t> keep(bars.size());
  uint64_t outside = 0;
  constexpr int64_t kNoDay = INT64_MIN;
  int64_t day = kNoDay;  // of the segment's bar kept last
  size_t before = 0;     // that bar
  for (size_t bar = 0; bar < bars.size(); ++bar) {
    if (bar > 0 && bars.last[bar - 1] != 0) day = kNoDay;
    const std::optional<Session::Place> place = session.At(bars.timestamp[bar]);
    keep[bar] = place ? 1 : 0;
    if (!place) {
      ++outside;
      continue;
    }
    if (cut && day != kNoDay && day != place->day) bars.last[before] = 1;
    day = place->day;
    before = bar;
  }
  if (outside == bars.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("none of the ", bars.size(), " bars starts inside --session ", session.text(),
                     "; the first starts at ", FormatUtc(bars.timestamp[0])));
  }
  // A last bar that is left out passes its mark on to the bar kept before it.
  KeepBars(keep, bars);
  if (outside > 0) bars.left_out["bars outside the session"] = outside;
  bars.metadata["session"] = session.text();
  return absl::OkStatus();
}

}  // namespace vixen::market
