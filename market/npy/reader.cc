// SPDX-License-Identifier: Apache-2.0
#include "market/npy/reader.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/exit_code.h"
#include "base/status_macros.h"
#include "market/bar_check.h"
#include "market/format.h"
#include "market/instrument_bars.h"
#include "market/npy/archive.h"
#include "market/npy/roles.h"
#include "market/npy/table.h"

namespace vixen::market {
namespace {

using npy::Array;
using npy::Column;

using Names = std::vector<std::string>;
constexpr const char* kRoles[] = {"time",  "open",   "high",   "low",
                                  "close", "volume", "symbol", "last"};

struct Series {
  InstrumentBars bars;
  std::string path;
  uint64_t row = 0;  // of the bar that stands last
  bool cut = false;
};

class Reader {
 public:
  explicit Reader(const NpyOptions& options) : options_(options) {}

  absl::Status AddFile(const std::string& path) {
    VIXEN_ASSIGN_OR_RETURN(const std::vector<Array> arrays, npy::ReadArrays(path));
    const std::vector<Column> columns = npy::ColumnsOf(arrays);
    VIXEN_ASSIGN_OR_RETURN(npy::Roles roles, npy::FindRoles(columns, options_, path));
    if (options_.no_volume) roles.volume = nullptr;
    const bool volume = roles.volume != nullptr;
    if (has_volume_ && *has_volume_ != volume) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": has ", volume ? "a" : "no",
                                                     " volume, unlike the files before; "
                                                     "--volume none marks it absent in all"));
    }
    has_volume_ = volume;
    if (!options_.symbols.empty() && roles.symbol == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": --symbol was given but no array names an instrument"));
    }
    VIXEN_ASSIGN_OR_RETURN(const std::vector<int64_t> times, npy::TimesOf(*roles.time, path));
    for (uint64_t row = 0; row < times.size(); ++row) {
      VIXEN_RETURN_IF_ERROR(AddRow(path, roles, times[row], row));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Bars> Finish() {
    Bars bars;
    Names names;
    for (Series& series : series_) {
      if (!series.bars.name.empty()) names.push_back(series.bars.name);
      AppendInstrument(std::move(series.bars), bars);
    }
    if (bars.size() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "no row gives a bar", options_.symbols.empty() ? "" : "; instruments asked for: ",
          absl::StrJoin(options_.symbols, ", ")));
    }
    bars.has_volume = has_volume_.value_or(false);
    bars.left_out = std::move(left_out_);
    if (!names.empty()) bars.metadata["symbols"] = absl::StrJoin(names, ",");
    return bars;
  }

 private:
  static absl::Status Fault(const std::string& path, uint64_t row, int64_t time,
                            const std::string& text) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": row ", row, ", time ", FormatUtc(time), ": ", text));
  }

  absl::Status AddRow(const std::string& path, const npy::Roles& roles, int64_t time,
                      uint64_t row) {
    std::string name;
    if (roles.symbol != nullptr) name = npy::TextAt(roles.symbol->type(), roles.symbol->At(row));
    if (!options_.symbols.empty() &&
        std::ranges::find(options_.symbols, name) == options_.symbols.end()) {
      ++left_out_["rows of other instruments"];
      return absl::OkStatus();
    }
    const auto number = [row](const Column* column) {
      return npy::NumberAt(column->type(), column->At(row));
    };
    Series& series = SeriesOf(name);
    const double open = number(roles.prices[0]), high = number(roles.prices[1]);
    const double low = number(roles.prices[2]), close = number(roles.prices[3]);
    const double volume = roles.volume == nullptr ? 0 : number(roles.volume);
    const bool end = roles.last != nullptr && *roles.last->At(row) != 0;
    if (options_.missing != Missing::kError && std::isnan(open + high + low + close)) {
      ++left_out_["rows without a price"];
      series.cut |= end || options_.missing == Missing::kSegment;
      return absl::OkStatus();
    }
    if (!IsValidBar(open, high, low, close, volume)) {
      const BarFault fault = *FindBarFault(open, high, low, close, volume);
      return Fault(path, row, time,
                   absl::StrCat(fault.field, " = ", FormatValue(fault.value), " ", fault.rule));
    }
    InstrumentBars& bars = series.bars;
    bool replace = false;
    if (!bars.time.empty() && time <= bars.time.back() && !series.cut) {
      const std::string before = absl::StrCat(series.path == path ? "" : series.path + ": ", "row ",
                                              series.row, " (", FormatUtc(bars.time.back()), ")");
      if (time < bars.time.back()) return Fault(path, row, time, "lies before " + before);
      if (options_.duplicates == Duplicates::kError) {
        return Fault(path, row, time,
                     absl::StrCat("the time of ", before,
                                  " again; --duplicates first, last or segment accepts it"));
      }
      if (options_.duplicates == Duplicates::kSegment) {
        series.cut = true;
      } else {
        ++left_out_["rows of a repeated time"];
        if (options_.duplicates == Duplicates::kFirst) return absl::OkStatus();
        replace = true;
      }
    }
    if (series.cut && !bars.time.empty()) bars.breaks.push_back(bars.size());
    series.cut = end;
    series.row = row;
    if (series.path != path) series.path = path;
    const auto put = [replace](auto& column, auto value) {
      if (replace) column.pop_back();
      column.push_back(value);
    };
    put(bars.time, time);
    put(bars.open, open);
    put(bars.high, high);
    put(bars.low, low);
    put(bars.close, close);
    put(bars.volume, volume);
    return absl::OkStatus();
  }

  Series& SeriesOf(const std::string& name) {
    const auto [place, added] = places_.try_emplace(name, series_.size());
    if (added) series_.emplace_back().bars.name = name;
    return series_[place->second];
  }

  const NpyOptions& options_;
  std::vector<Series> series_;
  std::map<std::string, size_t> places_;
  std::map<std::string, uint64_t> left_out_;
  std::optional<bool> has_volume_;
};

}  // namespace

absl::StatusOr<Bars> ReadNpy(const std::vector<std::string>& paths, const NpyOptions& options) {
  for (const auto& [role, name] : options.columns) {
    if (std::ranges::find(kRoles, role) == std::end(kRoles)) {
      return base::UsageError(
          absl::StrCat("--columns ", role, "=", name, ": roles are ", absl::StrJoin(kRoles, ", ")));
    }
  }
  Reader reader(options);
  for (const std::string& path : paths) VIXEN_RETURN_IF_ERROR(reader.AddFile(path));
  return reader.Finish();
}

}  // namespace vixen::market
