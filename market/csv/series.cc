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
  Put(series.time, rows.time, i, replace);
  Put(series.open, rows.open, i, replace);
  Put(series.high, rows.high, i, replace);
  Put(series.low, rows.low, i, replace);
  Put(series.close, rows.close, i, replace);
  Put(series.volume, rows.volume, i, replace);
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
                               FormatUtc(series.time.back()),
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
  return {std::move(rows.time),        std::move(rows.open),  std::move(rows.high),
          std::move(rows.low),         std::move(rows.close), std::move(rows.volume),
          std::move(rows.tick_volume), std::move(place)};
}

}  // namespace

absl::Status AppendFile(FileRows rows, Duplicates duplicates, std::vector<Series>& series) {
  Series& first = series[rows.instrument[0]];
  if (first.time.empty() && IsOneRisingSeries(rows)) {
    first = TakeSeries(std::move(rows));
    return absl::OkStatus();
  }
  const bool reversed = FallsThroughout(rows, series.size());
  for (size_t step = 0; step < rows.size(); ++step) {
    const size_t i = reversed ? rows.size() - 1 - step : step;
    Series& to = series[rows.instrument[i]];
    if (!to.time.empty() && rows.time[i] < to.time.back()) return FallingError(rows, i, to);
    const bool equal = !to.time.empty() && rows.time[i] == to.time.back();
    if (equal && duplicates == Duplicates::kError) return DuplicateError(rows, i, to);
    // "Last" is the row that stands last in the file, also when the file is read backwards.
    const bool replace = equal && ((duplicates == Duplicates::kLast) != reversed);
    if (!equal || replace) PutRow(rows, i, replace, to);
  }
  return absl::OkStatus();
}

}  // namespace vixen::market::csv
