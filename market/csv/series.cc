// SPDX-License-Identifier: Apache-2.0
#include "market/csv/series.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "market/format.h"

namespace vixen::market::csv {
namespace {

// True when no instrument's times rise anywhere in the file and some fall.
bool FallsThroughout(const FileRows& rows, size_t instruments) {
  std::vector<int64_t> before(instruments, INT64_MIN);
  bool falls = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    int64_t& previous = before[rows.instrument[i]];
    if (previous != INT64_MIN) {
      if (rows.time[i] > previous) return false;
      falls |= rows.time[i] < previous;
    }
    previous = rows.time[i];
  }
  return falls;
}

RowPlace PlaceOf(const FileRows& rows, size_t i) { return {rows.path, rows.line[i], rows.row[i]}; }

template <typename Column>
void Put(Column& column, const Column& from, size_t i, bool replace) {
  if (from.empty()) return;
  if (replace) {
    column.back() = from[i];
  } else {
    column.push_back(from[i]);
  }
}

void PutRow(const FileRows& rows, size_t i, bool replace, Series& series) {
  InstrumentBars& bars = series.bars;
  if (series.cut && !replace && bars.size() > 0) bars.breaks.push_back(bars.size());
  series.cut = series.cut && replace;
  Put(bars.time, rows.time, i, replace);
  Put(bars.open, rows.open, i, replace);
  Put(bars.high, rows.high, i, replace);
  Put(bars.low, rows.low, i, replace);
  Put(bars.close, rows.close, i, replace);
  Put(bars.volume, rows.volume, i, replace);
  Put(series.tick_volume, rows.tick_volume, i, replace);
  series.last_place.line = rows.line[i];
  series.last_place.row = rows.row[i];
  if (series.last_place.file != rows.path) series.last_place.file = rows.path;
}

absl::Status DuplicateError(const FileRows& rows, size_t i, const Series& series) {
  return RowError(
      PlaceOf(rows, i), FormatUtc(rows.time[i]),
      absl::StrCat("the time of ", series.last_place.Text(),
                   " again; --duplicates first or --duplicates last keeps one of them"));
}

absl::Status FallingError(const FileRows& rows, size_t i, const Series& series) {
  return RowError(PlaceOf(rows, i), FormatUtc(rows.time[i]),
                  absl::StrCat("lies before ", series.last_place.Text(), ", time ",
                               FormatUtc(series.bars.time.back()),
                               "; files are read in the order given, and only a file that falls "
                               "throughout is turned round"));
}

// The usual file: one instrument, times strictly rising.
bool IsOneRisingSeries(const FileRows& rows) {
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows.time[i] <= rows.time[i - 1] || rows.instrument[i] != rows.instrument[0]) return false;
  }
  return true;
}

Series TakeSeries(FileRows rows) {
  RowPlace place = PlaceOf(rows, rows.size() - 1);
  InstrumentBars bars{{},
                      std::move(rows.time),
                      std::move(rows.open),
                      std::move(rows.high),
                      std::move(rows.low),
                      std::move(rows.close),
                      std::move(rows.volume),
                      {}};
  return {std::move(bars), std::move(rows.tick_volume), std::move(place)};
}

void Cut(uint32_t instrument, std::vector<Series>& series) {
  if (instrument != SegmentCut::kEvery) {
    series[instrument].cut = true;
    return;
  }
  for (Series& each : series) each.cut = true;
}

// One row behind those of its instrument.
absl::Status AppendRow(const FileRows& rows, size_t i, Duplicates duplicates, bool reversed,
                       Series& to, uint64_t& repeated) {
  const std::vector<int64_t>& time = to.bars.time;
  if (!time.empty() && rows.time[i] < time.back()) return FallingError(rows, i, to);
  const bool equal = !time.empty() && rows.time[i] == time.back();
  if (equal && duplicates == Duplicates::kError) return DuplicateError(rows, i, to);
  if (equal && duplicates == Duplicates::kSegment) {
    to.cut = true;
    PutRow(rows, i, false, to);
    return absl::OkStatus();
  }
  // "Last" is the row that stands last in the file, also when the file is read backwards.
  const bool replace = equal && ((duplicates == Duplicates::kLast) != reversed);
  if (!equal || replace) PutRow(rows, i, replace, to);
  repeated += equal ? 1 : 0;
  return absl::OkStatus();
}

}  // namespace

absl::Status AppendFile(FileRows rows, Duplicates duplicates, std::vector<Series>& series,
                        uint64_t& repeated) {
  Series& first = series[rows.instrument[0]];
  if (first.bars.time.empty() && rows.cuts.empty() && IsOneRisingSeries(rows)) {
    first = TakeSeries(std::move(rows));
    return absl::OkStatus();
  }
  const bool reversed = FallsThroughout(rows, series.size());
  // A cut stands between two rows of its instrument, whichever way the file is read.
  if (reversed) std::ranges::reverse(rows.cuts);
  auto cut = rows.cuts.begin();
  for (size_t step = 0; step < rows.size(); ++step) {
    const size_t i = reversed ? rows.size() - 1 - step : step;
    while (cut != rows.cuts.end() && (reversed ? cut->before_row > i : cut->before_row <= i)) {
      Cut(cut->instrument, series);
      ++cut;
    }
    VIXEN_RETURN_IF_ERROR(
        AppendRow(rows, i, duplicates, reversed, series[rows.instrument[i]], repeated));
  }
  for (; cut != rows.cuts.end(); ++cut) Cut(cut->instrument, series);
  return absl::OkStatus();
}

}  // namespace vixen::market::csv
