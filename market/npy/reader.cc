// SPDX-License-Identifier: Apache-2.0
#include "market/npy/reader.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/exit_code.h"
#include "base/status_macros.h"
#include "market/bar_check.h"
#include "market/csv/columns.h"
#include "market/format.h"
#include "market/instrument_bars.h"
#include "market/npy/archive.h"
#include "market/npy/table.h"

namespace vixen::market {
namespace {

using npy::Array;
using npy::Column;

using Names = std::vector<std::string>;
constexpr const char* kRoles[] = {"time",  "open",   "high",   "low",
                                  "close", "volume", "symbol", "last"};
constexpr char kFeatures[] = "features";
constexpr char kFeatureNames[] = "feature_names";

std::string ListOf(const std::vector<Column>& columns) {
  return absl::StrJoin(columns, ", ",
                       [](std::string* out, const Column& column) { out->append(column.name); });
}

// The columns of one file by role.
struct Roles {
  const Column* time = nullptr;
  const Column* prices[4] = {};  // open, high, low, close
  const Column* volume = nullptr;
  const Column* symbol = nullptr;
  const Column* last = nullptr;
};

class RoleFinder {
 public:
  RoleFinder(const std::vector<Column>& columns, const NpyOptions& options, const std::string& path)
      : columns_(columns), options_(options), path_(path) {}

  absl::StatusOr<Roles> Find() const {
    Roles roles;
    VIXEN_ASSIGN_OR_RETURN(roles.time, Role("time", {}));
    const std::pair<const char*, Names> prices[] = {{"open", {"open", "o"}},
                                                    {"high", {"high", "h"}},
                                                    {"low", {"low", "l"}},
                                                    {"close", {"close", "c"}}};
    Names missing;
    if (roles.time == nullptr) missing.push_back("time");
    for (size_t i = 0; i < 4; ++i) {
      VIXEN_ASSIGN_OR_RETURN(roles.prices[i], Role(prices[i].first, prices[i].second));
      if (roles.prices[i] == nullptr) missing.push_back(prices[i].first);
    }
    VIXEN_ASSIGN_OR_RETURN(roles.volume, Role("volume", {"volume", "vol", "v"}));
    VIXEN_ASSIGN_OR_RETURN(roles.symbol, Role("symbol", {"symbol", "ticker", "instrument"}));
    VIXEN_ASSIGN_OR_RETURN(roles.last, Role("last", {"last"}));
    if (!missing.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path_, ": no array or field for ", absl::StrJoin(missing, ", "),
                       "; found: ", ListOf(columns_), ". Name them: --columns ",
                       absl::StrJoin(missing, ",", [](std::string* out, const std::string& role) {
                         absl::StrAppend(out, role, "=…");
                       })));
    }
    VIXEN_RETURN_IF_ERROR(Check(roles));
    return roles;
  }

 private:
  absl::StatusOr<const Column*> Role(const std::string& role, const Names& names) const {
    const auto told = options_.columns.find(role);
    const Column* found = nullptr;
    for (const Column& column : columns_) {
      const std::string canonical = csv::CanonicalName(column.name);
      const bool fits = told != options_.columns.end() ? column.name == told->second
                        : role == "time"               ? npy::IsTimeName(column.name)
                                         : std::ranges::find(names, canonical) != names.end();
      if (!fits) continue;
      if (found != nullptr) {
        return absl::InvalidArgumentError(absl::StrCat(path_, ": both ", found->name, " and ",
                                                       column.name, " may be the ", role,
                                                       "; say --columns ", role, "=…"));
      }
      found = &column;
    }
    if (told != options_.columns.end() && found == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(path_, ": --columns ", role, "=", told->second,
                                                     " names no array; found: ", ListOf(columns_)));
    }
    return found;
  }

  absl::Status Check(const Roles& roles) const {
    const auto check = [&](const Column* column, bool fits, const char* wanted) -> absl::Status {
      if (column == nullptr) return absl::OkStatus();
      if (!fits) {
        return absl::InvalidArgumentError(
            absl::StrCat(path_, ": ", column->name, " is ", column->type().Name(), "; ", wanted));
      }
      if (column->rows() != roles.time->rows()) {
        return absl::InvalidArgumentError(absl::StrCat(path_, ": ", column->name, " has ",
                                                       column->rows(), " rows, ", roles.time->name,
                                                       " has ", roles.time->rows()));
      }
      return absl::OkStatus();
    };
    for (const Column* price : roles.prices) {
      VIXEN_RETURN_IF_ERROR(
          check(price, price->type().is_number(), "prices are float32, float64 or integers"));
    }
    const Column* volume = roles.volume;
    VIXEN_RETURN_IF_ERROR(check(volume, volume == nullptr || volume->type().is_number(),
                                "volumes are float32, float64 or integers"));
    const Column* symbol = roles.symbol;
    VIXEN_RETURN_IF_ERROR(check(symbol, symbol == nullptr || symbol->type().is_text(),
                                "symbols are texts (dtype U or S)"));
    const Column* last = roles.last;
    return check(last, last == nullptr || last->type().bytes == 1, "last is bool or uint8");
  }

  const std::vector<Column>& columns_;
  const NpyOptions& options_;
  const std::string& path_;
};

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
    VIXEN_ASSIGN_OR_RETURN(Roles roles, RoleFinder(columns, options_, path).Find());
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

  absl::Status AddRow(const std::string& path, const Roles& roles, int64_t time, uint64_t row) {
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

// A 2-D array [T, F] of numbers.
absl::Status TakeMatrix(const Array& array, OwnFeatures& features) {
  const npy::Field& field = array.fields[0];
  if (array.shape.size() != 2 || array.is_structured() || !field.type.is_number()) {
    return absl::InvalidArgumentError(
        absl::StrCat(features.source, ": ", array.name, " is ", array.Describe(),
                     "; features are a 2-D array [T, F] of float32, float64 or integers"));
  }
  if (features.names.size() != array.shape[1]) {
    return absl::InvalidArgumentError(absl::StrCat(
        features.source, ": ", array.shape[1], " columns of features and ", features.names.size(),
        " names; name each by --feature_names a,b,… or an "
        "array feature_names in the archive"));
  }
  features.values.reserve(array.shape[0] * array.shape[1]);
  for (uint64_t row = 0; row < array.shape[0]; ++row) {
    for (uint64_t column = 0; column < array.shape[1]; ++column) {
      features.values.push_back(
          static_cast<float>(npy::NumberAt(field.type, array.At(field, row, column))));
    }
  }
  return absl::OkStatus();
}

absl::Status TakeColumns(const std::vector<Column>& columns, OwnFeatures& features) {
  std::vector<const Column*> taken;
  for (const Column& column : columns) {
    if (npy::IsTimeName(column.name)) continue;
    if (!column.type().is_number()) {
      return absl::InvalidArgumentError(
          absl::StrCat(features.source, ": ", column.name, " is ", column.type().Name(),
                       "; features are float32, float64 or integers"));
    }
    if (!taken.empty() && column.rows() != taken[0]->rows()) {
      return absl::InvalidArgumentError(absl::StrCat(features.source, ": ", column.name, " has ",
                                                     column.rows(), " rows, ", taken[0]->name,
                                                     " has ", taken[0]->rows()));
    }
    taken.push_back(&column);
    features.names.push_back(column.name);
  }
  if (taken.empty())
    return absl::InvalidArgumentError(absl::StrCat(features.source, ": no column of features"));
  for (uint64_t row = 0; row < taken[0]->rows(); ++row) {
    for (const Column* column : taken) {
      features.values.push_back(static_cast<float>(npy::NumberAt(column->type(), column->At(row))));
    }
  }
  return absl::OkStatus();
}

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

absl::StatusOr<OwnFeatures> ReadOwnFeatures(const std::string& path,
                                            const std::vector<std::string>& names) {
  VIXEN_ASSIGN_OR_RETURN(const std::vector<Array> arrays, npy::ReadArrays(path));
  OwnFeatures features;
  features.source = path;
  const std::vector<Column> columns = npy::ColumnsOf(arrays);
  for (const Column& column : columns) {
    if (!npy::IsTimeName(column.name)) continue;
    VIXEN_ASSIGN_OR_RETURN(features.timestamp, npy::TimesOf(column, path));
  }
  const auto named = [&arrays](const char* name) {
    return std::ranges::find(arrays, name, &Array::name);
  };
  const bool whole = arrays.size() == 1 && arrays[0].name.empty() && !arrays[0].is_structured();
  if (whole || named(kFeatures) != arrays.end()) {
    features.names = names;
    if (const auto array = named(kFeatureNames); names.empty() && array != arrays.end()) {
      if (array->shape.size() != 1 || !array->fields[0].type.is_text()) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": feature_names is ", array->Describe(), ", not a list of texts"));
      }
      for (uint64_t i = 0; i < array->shape[0]; ++i) {
        features.names.push_back(
            npy::TextAt(array->fields[0].type, array->At(array->fields[0], i)));
      }
    }
    VIXEN_RETURN_IF_ERROR(TakeMatrix(whole ? arrays[0] : *named(kFeatures), features));
  } else {
    if (!names.empty()) {
      return base::UsageError(
          absl::StrCat("--feature_names is for a 2-D array; ", path, " names its columns itself"));
    }
    VIXEN_RETURN_IF_ERROR(TakeColumns(columns, features));
  }
  if (!features.timestamp.empty() &&
      features.timestamp.size() * features.names.size() != features.values.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", features.timestamp.size(), " times for ",
                     features.values.size() / features.names.size(), " rows of features"));
  }
  return features;
}

}  // namespace vixen::market
