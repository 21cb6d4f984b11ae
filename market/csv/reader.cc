// SPDX-License-Identifier: Apache-2.0
#include "market/csv/reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/exit_code.h"
#include "base/status_macros.h"
#include "market/csv/file_rows.h"
#include "market/csv/series.h"
#include "market/csv/zone.h"
#include "market/instrument_bars.h"

namespace vixen::market {
namespace {

using csv::FileRows;
using csv::Series;

bool NoVolume(const std::vector<Series>& all) {
  return std::ranges::all_of(all, [](const Series& series) {
    return std::ranges::all_of(series.bars.volume, [](double value) { return value == 0; });
  });
}

// What is the same in all files, and what any of them did.
struct Common {
  std::string first_path;
  bool has_volume = false, has_tick_volume = false;
  std::string volume_name, tick_volume_name;
  bool date_only = false, used_zone = false;

  absl::Status Add(const FileRows& rows) {
    const bool volume = !rows.volume.empty(), tick_volume = !rows.tick_volume.empty();
    if (first_path.empty()) {
      first_path = rows.path;
      has_volume = volume;
      has_tick_volume = tick_volume;
      volume_name = rows.volume_name;
      tick_volume_name = rows.tick_volume_name;
    } else if (volume != has_volume || tick_volume != has_tick_volume) {
      return absl::InvalidArgumentError(
          absl::StrCat(rows.path, ": has other volume columns than ", first_path,
                       "; say --volume NAME for the one to take, or --volume none"));
    }
    date_only |= rows.date_only;
    used_zone |= rows.used_zone;
    return absl::OkStatus();
  }
};

void Count(const char* what, uint64_t rows, Bars& bars) {
  if (rows > 0) bars.left_out[what] += rows;
}

}  // namespace

absl::StatusOr<Bars> ReadCsv(const std::vector<std::string>& paths, const CsvOptions& options) {
  if (options.decimal != '.' && options.decimal != ',') {
    return base::UsageError("--decimal must be . or ,");
  }
  if (options.thousands == options.decimal) {
    return base::UsageError(
        absl::StrCat("--thousands and --decimal are both ", std::string(1, options.decimal)));
  }
  std::optional<csv::Zone> zone;
  if (!options.time_zone.empty()) {
    VIXEN_ASSIGN_OR_RETURN(zone, csv::Zone::Parse(options.time_zone));
  }
  Bars bars;
  Common common;
  csv::Instruments instruments;
  std::vector<Series> all;
  uint64_t repeated = 0;
  std::vector<std::string> others;  // instruments of a file without any that were asked for
  for (const std::string& path : paths) {
    VIXEN_ASSIGN_OR_RETURN(FileRows rows,
                           csv::ReadFileRows(path, options, zone ? &*zone : nullptr, instruments));
    Count("rows of other instruments", rows.unwanted, bars);
    Count("rows without a price", rows.missing, bars);
    if (rows.size() == 0) {
      others = std::move(rows.other_instruments);
      continue;
    }
    VIXEN_RETURN_IF_ERROR(common.Add(rows));
    all.resize(instruments.names().size());
    bars.warnings.insert(bars.warnings.end(), rows.warnings.begin(), rows.warnings.end());
    VIXEN_RETURN_IF_ERROR(csv::AppendFile(std::move(rows), options.duplicates, all, repeated));
  }

  Count("rows of a repeated time", repeated, bars);
  if (all.empty() && options.symbols.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(absl::StrJoin(paths, ", "), ": no row has all four prices"));
  }
  if (all.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        absl::StrJoin(paths, ", "), ": no row of instrument ", absl::StrJoin(options.symbols, ", "),
        "; found: ", absl::StrJoin(others, ", ")));
  }
  if (common.has_tick_volume && NoVolume(all)) {
    common.volume_name = common.tick_volume_name;
    for (Series& series : all) series.bars.volume = std::move(series.tick_volume);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].bars.name = instruments.names()[i];
    AppendInstrument(std::move(all[i].bars), bars);
  }
  bars.has_volume = common.has_volume;
  if (common.has_volume) bars.metadata["volume_column"] = common.volume_name;
  const std::string symbols = absl::StrJoin(instruments.names(), ",");
  if (!symbols.empty()) bars.metadata["symbols"] = symbols;
  if (common.used_zone) bars.metadata["time_zone_of_source"] = zone ? zone->name() : "UTC";
  if (common.date_only) {
    bars.metadata["bar_start"] = "midnight UTC of the date";
    if (zone) {
      bars.warnings.push_back(
          absl::StrCat("the times are dates only and stand for midnight UTC; --tz ", zone->name(),
                       " was not applied"));
    }
  }
  if (options.adjust) bars.metadata["adjusted"] = "all prices by adjusted close / close";
  return bars;
}

}  // namespace vixen::market
