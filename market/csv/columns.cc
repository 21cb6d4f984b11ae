// SPDX-License-Identifier: Apache-2.0
#include "market/csv/columns.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "market/csv/calendar.h"
#include "market/csv/column_finder.h"
#include "market/csv/number.h"
#include "market/csv/row_error.h"

namespace vixen::market::csv {
namespace {

using Names = std::vector<std::string>;

// Names of a whole time, the most explicit first.
const Names& TimeNames() {
  static const auto& names = *new Names{"tsevent",   "windowstart",   "opentime",  "gmttime",
                                        "utctime",   "timeutc",       "dateutc",   "unix",
                                        "unixtime",  "unixtimestamp", "timestamp", "datetime",
                                        "localtime", "epoch",         "begin",     "t"};
  return names;
}

constexpr const char* kRoles[] = {"time",  "date",   "open",   "high",     "low",
                                  "close", "volume", "symbol", "adj_close"};

absl::Status FindTime(const ColumnFinder& finder, Columns& columns) {
  VIXEN_ASSIGN_OR_RETURN(const int date, finder.Role("date", {"date"}));
  VIXEN_ASSIGN_OR_RETURN(const int time, finder.Role("time", {"time"}));
  if (finder.TellsAnyOf("time") || finder.TellsAnyOf("date")) {
    const bool halves = finder.TellsAnyOf("date") && finder.TellsAnyOf("time");
    columns.time = finder.TellsAnyOf("date") ? date : time;
    columns.clock = halves ? time : -1;
    if (!finder.TellsAnyOf("time") && time != date) columns.clock = time;
    return absl::OkStatus();
  }
  for (const std::string& name : TimeNames()) {
    VIXEN_ASSIGN_OR_RETURN(columns.time, finder.Only(name));
    if (columns.time < 0) continue;
    columns.utc = name == "gmttime" || name.ends_with("utc") || name == "utctime";
    return absl::OkStatus();
  }
  columns.time = date >= 0 ? date : time;
  columns.clock = date >= 0 ? time : -1;
  // The index column of a data frame has no name.
  const std::string& first = finder.canonical().front();
  columns.numbered = columns.time < 0 && (first.empty() || first == "unnamed0");
  if (columns.numbered) columns.time = 0;
  columns.frame_head = columns.time < 0 && first == "price";
  if (columns.frame_head) columns.time = 0;
  return absl::OkStatus();
}

absl::Status FindVolume(const ColumnFinder& finder, const CsvOptions& options, Columns& columns) {
  if (options.volume == "none") return absl::OkStatus();
  const auto told = options.columns.find("volume");
  const std::string& name =
      options.volume.empty() && told != options.columns.end() ? told->second : options.volume;
  if (!name.empty()) {
    VIXEN_ASSIGN_OR_RETURN(columns.volume, finder.Told(absl::StrCat("--volume ", name), name));
    return absl::OkStatus();
  }
  std::vector<std::string> candidates;
  for (size_t i = 0; i < columns.count(); ++i) {
    const std::string& canonical = finder.canonical()[i];
    if (canonical == "tickvol" || canonical == "tickvolume") {
      columns.tick_volume = static_cast<int>(i);
    } else if (canonical == "vol" || canonical == "v" || canonical == "realvolume" ||
               (canonical.starts_with("volume") && !canonical.starts_with("volumeweighted"))) {
      columns.volume = static_cast<int>(i);
      candidates.push_back(columns.names[i]);
    }
  }
  if (candidates.size() > 1) {
    return finder.Error(absl::StrCat("which column is the volume, ",
                                     absl::StrJoin(candidates, " or "), "? Say --volume \"",
                                     candidates[0], "\", or --volume none"));
  }
  if (columns.volume < 0) std::swap(columns.volume, columns.tick_volume);
  return absl::OkStatus();
}

absl::Status FindInstrument(const ColumnFinder& finder, Columns& columns) {
  if (finder.TellsAnyOf("symbol")) {
    VIXEN_ASSIGN_OR_RETURN(const int told, finder.Role("symbol", {}));
    columns.instrument = {told};
    return absl::OkStatus();
  }
  VIXEN_ASSIGN_OR_RETURN(
      const int name, finder.Role("symbol", {"symbol", "ticker", "instrument", "secid", "contract",
                                             "pair", "name"}));
  if (name >= 0) columns.instrument.push_back(name);
  // A continuous symbol keeps its name over a roll; the identifiers tell the contracts apart.
  for (const char* identifier : {"instrumentid", "publisherid"}) {
    VIXEN_ASSIGN_OR_RETURN(const int found, finder.Only(identifier));
    if (found >= 0) columns.instrument.push_back(found);
  }
  return absl::OkStatus();
}

absl::StatusOr<Columns> Resolve(Columns columns, const CsvOptions& options,
                                const std::string& place) {
  for (const auto& [role, name] : options.columns) {
    if (std::find(std::begin(kRoles), std::end(kRoles), role) == std::end(kRoles)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--columns ", role, "=", name, ": roles are ", absl::StrJoin(kRoles, ", ")));
    }
  }
  const ColumnFinder finder(columns, options, place);
  VIXEN_RETURN_IF_ERROR(FindTime(finder, columns));
  VIXEN_ASSIGN_OR_RETURN(columns.open, finder.Role("open", {"open", "o", "openprice"}));
  VIXEN_ASSIGN_OR_RETURN(columns.high, finder.Role("high", {"high", "h", "highprice"}));
  VIXEN_ASSIGN_OR_RETURN(columns.low, finder.Role("low", {"low", "l", "lowprice"}));
  VIXEN_ASSIGN_OR_RETURN(
      columns.close, finder.Role("close", {"close", "c", "closeprice", "closelast", "price", "last",
                                           "lastprice"}));
  VIXEN_ASSIGN_OR_RETURN(columns.adjusted_close,
                         finder.Role("adj_close", {"adjclose", "adjustedclose", "closeadj"}));

  // A first column "Price" that has to be the close is no data frame's index.
  if (columns.time == columns.close) columns.time = -1;

  std::vector<std::string> missing;
  const std::pair<const char*, int> required[] = {{"time", columns.time},
                                                  {"open", columns.open},
                                                  {"high", columns.high},
                                                  {"low", columns.low},
                                                  {"close", columns.close}};
  for (const auto& [role, column] : required) {
    if (column < 0) missing.push_back(role);
  }
  if (!missing.empty()) {
    absl::Status status =
        finder.Error(absl::StrCat("no column for ", absl::StrJoin(missing, ", ")));
    if (missing.size() == 3 && columns.time >= 0 && columns.close >= 0) {
      const std::string& close = columns.names[columns.close];
      return absl::InvalidArgumentError(
          absl::StrCat(status.message(), ". If one price is all there is: --columns open=", close,
                       ",high=", close, ",low=", close));
    }
    return absl::InvalidArgumentError(
        absl::StrCat(status.message(), ". Name them, or give their numbers: --columns ",
                     absl::StrJoin(missing, ",", [](std::string* out, const std::string& role) {
                       absl::StrAppend(out, role, "=…");
                     })));
  }
  if (options.adjust && columns.adjusted_close < 0) {
    return finder.Error("--adjust needs a column of adjusted closes (Adj Close)");
  }
  VIXEN_RETURN_IF_ERROR(FindVolume(finder, options, columns));
  VIXEN_RETURN_IF_ERROR(FindInstrument(finder, columns));
  if (!options.symbols.empty() && columns.instrument.empty()) {
    return finder.Error("--symbol was given but no column names an instrument");
  }
  const Names& canonical = finder.canonical();
  columns.databento =
      std::ranges::count(canonical, "tsevent") == 1 && std::ranges::count(canonical, "rtype") == 1;
  return columns;
}

}  // namespace

std::string CanonicalName(std::string_view name) {
  std::string canonical;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') {
      canonical += static_cast<char>(c - 'A' + 'a');
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c & 0x80) != 0) {
      canonical += c;
    }
  }
  return canonical;
}

bool IsHeader(const std::vector<std::string_view>& fields, char decimal) {
  return std::none_of(fields.begin(), fields.end(), [&](std::string_view field) {
    return ParseNumber(field, decimal) || ParseNumber(field, '.') || ParseCalendarTime(field) ||
           ParseTimeOfDay(field);
  });
}

absl::StatusOr<bool> IsFrameHead(std::span<const std::string_view> fields, std::string& ticker) {
  const std::string first = CanonicalName(fields.front());
  const std::span<const std::string_view> rest = fields.subspan(1);
  if (first == "date" || first == "datetime") {
    return std::ranges::all_of(rest, &std::string_view::empty);
  }
  if (first != "ticker" || rest.empty()) return false;
  for (const std::string_view name : rest) {
    if (name == rest.front()) continue;
    return absl::InvalidArgumentError(absl::StrCat("holds several instruments side by side, ",
                                                   Quoted(rest.front()), " and ", Quoted(name),
                                                   ": write a file for each"));
  }
  ticker = rest.front();
  return true;
}

absl::StatusOr<Columns> ColumnsFromHeader(const std::vector<std::string_view>& fields,
                                          const CsvOptions& options, const std::string& place) {
  Columns columns;
  for (const std::string_view field : fields) columns.names.emplace_back(field);
  return Resolve(std::move(columns), options, place);
}

absl::StatusOr<Columns> ColumnsWithoutHeader(const std::vector<std::string_view>& fields,
                                             const CsvOptions& options, const std::string& place) {
  Columns columns;
  for (size_t i = 0; i < fields.size(); ++i) columns.names.push_back(absl::StrCat(i + 1));
  if (!options.columns.empty()) return Resolve(std::move(columns), options, place);

  const bool binance = fields.size() == 12 && ParseEpoch(fields[0]) && ParseEpoch(fields[6]);
  const bool halves = fields.size() == 7 && ParseDate(fields[0]) && ParseTimeOfDay(fields[1]);
  const bool kraken = fields.size() == 7 && !halves && ParseEpoch(fields[0]);
  const bool whole = fields.size() == 6 && (ParseCalendarTime(fields[0]) || ParseEpoch(fields[0]));
  if (!binance && !halves && !kraken && !whole) {
    return absl::InvalidArgumentError(absl::StrCat(
        place, ": ", fields.size(),
        " columns without a header are no known form (6: time, open, high, low, close, volume; 7: "
        "date, time, open, …, or Kraken; 12: Binance). Name them by number: --columns "
        "time=1,open=2,high=3,low=4,close=5,volume=6"));
  }
  const ColumnFinder finder(columns, options, place);
  if (options.adjust) return finder.Error("--adjust needs a column of adjusted closes");
  if (!options.symbols.empty()) {
    return finder.Error("--symbol was given but no column names an instrument");
  }
  const int price = halves ? 2 : 1;
  columns.time = 0;
  columns.clock = halves ? 1 : -1;
  columns.open = price;
  columns.high = price + 1;
  columns.low = price + 2;
  columns.close = price + 3;
  columns.volume = price + 4;
  if (options.volume == "none") {
    columns.volume = -1;
  } else if (!options.volume.empty()) {
    VIXEN_ASSIGN_OR_RETURN(columns.volume,
                           finder.Told(absl::StrCat("--volume ", options.volume), options.volume));
  }
  return columns;
}

}  // namespace vixen::market::csv
