// SPDX-License-Identifier: Apache-2.0
#include "market/factors.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "market/bar_check.h"
#include "market/csv/calendar.h"
#include "market/csv/columns.h"
#include "market/csv/fields.h"
#include "market/csv/line_reader.h"
#include "market/csv/number.h"
#include "market/csv/row_error.h"
#include "market/csv/time_column.h"
#include "market/csv/zone.h"
#include "market/format.h"

namespace vixen::market {
namespace {

// "2", "1.5", "3:2", "3/2", "3-for-2": new shares for an old one.
std::optional<double> ParseSplit(std::string_view text) {
  for (const std::string_view sign : {":", "/", "-for-"}) {
    const size_t at = text.find(sign);
    if (at == std::string_view::npos) continue;
    const auto above = csv::ParseNumber(text.substr(0, at), '.');
    const auto below = csv::ParseNumber(text.substr(at + sign.size()), '.');
    if (!above || !below || *below <= 0) return std::nullopt;
    return *above / *below;
  }
  return csv::ParseNumber(text, '.');
}

class FactorReader {
 public:
  FactorReader(csv::LineReader lines, csv::Zone& zone) : lines_(std::move(lines)), zone_(zone) {}

  absl::StatusOr<std::vector<CorporateAction>> Read() {
    std::string_view line;
    for (;;) {
      VIXEN_ASSIGN_OR_RETURN(const bool more, lines_.Next(line));
      if (!more) break;
      if (names_.empty()) {
        VIXEN_RETURN_IF_ERROR(TakeHeader(line));
      } else {
        VIXEN_RETURN_IF_ERROR(TakeRow(line));
      }
    }
    if (names_.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(lines_.path(), ": holds no header"));
    }
    return std::move(actions_);
  }

 private:
  absl::Status TakeHeader(std::string_view line) {
    delimiter_ = csv::FindDelimiter(line);
    csv::SplitFields(line, delimiter_, fields_);
    for (const std::string_view field : fields_) names_.emplace_back(field);
    time_ = Find({"date", "time", "timestamp", "datetime", "exdate", ""});
    symbol_ = Find({"symbol", "ticker", "instrument"});
    split_ = Find({"split", "splits", "stocksplit", "stocksplits", "splitratio", "ratio"});
    dividend_ = Find({"dividend", "dividends", "div", "amount", "cash"});
    factor_ = Find({"factor", "adjustmentfactor", "adjfactor"});
    if (time_ >= 0 && (split_ >= 0 || dividend_ >= 0 || factor_ >= 0)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(lines_.path(),
                     ": a factor file has a header with date, symbol where there are "
                     "several, and split, dividend or factor; found: ",
                     absl::StrJoin(names_, ", ")));
  }

  int Find(std::initializer_list<const char*> wanted) const {
    for (const char* name : wanted) {
      for (size_t i = 0; i < names_.size(); ++i) {
        if (csv::CanonicalName(names_[i]) == name) return static_cast<int>(i);
      }
    }
    return -1;
  }

  absl::Status Fault(int column, const char* why) const {
    return csv::RowError({lines_.path(), lines_.line_number(), row_}, "",
                         absl::StrCat(names_[static_cast<size_t>(column)], " = ",
                                      csv::Quoted(fields_[static_cast<size_t>(column)]), " ", why));
  }

  // The number of a column; `none` when there is no such column or the field is empty.
  absl::StatusOr<double> Number(int column, double none, bool ratio) const {
    if (column < 0 || fields_[static_cast<size_t>(column)].empty()) return none;
    const std::string_view text = fields_[static_cast<size_t>(column)];
    const std::optional<double> value = ratio ? ParseSplit(text) : csv::ParseNumber(text, '.');
    if (!value || *value < 0) return Fault(column, "is no number of 0 or more");
    return *value == 0 ? none : *value;
  }

  absl::Status TakeRow(std::string_view line) {
    csv::SplitFields(line, delimiter_, fields_);
    ++row_;
    const csv::RowPlace place{lines_.path(), lines_.line_number(), row_};
    if (fields_.size() != names_.size()) {
      return csv::RowError(
          place, "",
          absl::StrCat("has ", fields_.size(), " fields where ", names_.size(), " are expected"));
    }
    CorporateAction action;
    action.place = place.Text();
    const std::optional<csv::CalendarTime> time =
        csv::ParseCalendarTime(fields_[static_cast<size_t>(time_)]);
    if (!time || time->date.order_open) return Fault(time_, "is no date such as 2024-06-10");
    const int64_t clock = time->time ? time->time->ns : 0;
    const int64_t local = *time->date.month_first * csv::kNsPerDay + clock;
    if (time->time && time->time->offset_seconds) {
      action.time_ns = local - *time->time->offset_seconds * csv::kNsPerSecond;
    } else {
      const absl::StatusOr<int64_t> utc = zone_.ToUtc(local);
      if (!utc.ok()) return Fault(time_, std::string(utc.status().message()).c_str());
      action.time_ns = *utc;
    }
    if (symbol_ >= 0) action.symbol = std::string(fields_[static_cast<size_t>(symbol_)]);
    VIXEN_ASSIGN_OR_RETURN(action.split, Number(split_, 1, true));
    VIXEN_ASSIGN_OR_RETURN(action.dividend, Number(dividend_, 0, false));
    VIXEN_ASSIGN_OR_RETURN(action.factor, Number(factor_, 1, false));
    actions_.push_back(std::move(action));
    return absl::OkStatus();
  }

  csv::LineReader lines_;
  csv::Zone& zone_;
  char delimiter_ = 0;
  std::vector<std::string> names_;
  std::vector<std::string_view> fields_;
  int time_ = -1, symbol_ = -1, split_ = -1, dividend_ = -1, factor_ = -1;
  uint64_t row_ = 0;
  std::vector<CorporateAction> actions_;
};

// The multipliers of prices and volumes from an action on, given the close before it as it was
// read.
absl::Status Multiply(const CorporateAction& action, double close_before, double& price,
                      double& volume) {
  if (action.dividend >= close_before) {
    return absl::InvalidArgumentError(
        absl::StrCat(action.place, ": dividend = ", FormatValue(action.dividend),
                     " is not below the close before it, ", FormatValue(close_before)));
  }
  price = price * action.split / action.factor / (1 - action.dividend / close_before);
  volume = volume / action.split * action.factor;
  return absl::OkStatus();
}

absl::Status AdjustRange(const std::vector<CorporateAction>& actions, size_t begin, size_t end,
                         uint64_t& used, Bars& bars) {
  double price = 1, volume = 1, close_before = 0;
  size_t next = 0;
  for (size_t bar = begin; bar < end; ++bar) {
    for (; next < actions.size() && actions[next].time_ns <= bars.timestamp[bar]; ++next) {
      if (bar == begin) continue;
      VIXEN_RETURN_IF_ERROR(Multiply(actions[next], close_before, price, volume));
      ++used;
    }
    close_before = bars.close[bar];
    if (price == 1 && volume == 1) continue;
    for (auto* column : {&bars.open, &bars.high, &bars.low, &bars.close}) (*column)[bar] *= price;
    bars.volume[bar] *= volume;
    if (!IsValidBar(bars.open[bar], bars.high[bar], bars.low[bar], bars.close[bar],
                    bars.volume[bar])) {
      return absl::InvalidArgumentError(absl::StrCat("bar ", bar, ", time ",
                                                     FormatUtc(bars.timestamp[bar]),
                                                     ": its adjusted prices are outside float64"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<CorporateAction>> ReadFactors(const std::string& path,
                                                         const std::string& zone) {
  VIXEN_ASSIGN_OR_RETURN(csv::ByteSource source, csv::ByteSource::Open(path));
  VIXEN_ASSIGN_OR_RETURN(csv::Zone clock, csv::Zone::Parse(zone.empty() ? "UTC" : zone));
  return FactorReader(csv::LineReader(std::move(source)), clock).Read();
}

absl::Status ApplyFactors(std::vector<CorporateAction> actions, Bars& bars) {
  std::ranges::stable_sort(actions, {}, &CorporateAction::time_ns);
  std::vector<BarInstrument> instruments = bars.instruments;
  if (instruments.empty()) instruments.push_back({"", 0});
  std::set<std::string> names;
  uint64_t used = 0;
  for (size_t i = 0; i < instruments.size(); ++i) {
    const std::string& name = instruments[i].name;
    names.insert(name);
    std::vector<CorporateAction> own;
    for (const CorporateAction& action : actions) {
      if (action.symbol.empty() || action.symbol == name || name.empty()) own.push_back(action);
    }
    const size_t end = i + 1 < instruments.size() ? instruments[i + 1].begin : bars.size();
    VIXEN_RETURN_IF_ERROR(AdjustRange(own, instruments[i].begin, end, used, bars));
  }
  std::set<std::string> unknown;
  for (const CorporateAction& action : actions) {
    if (!action.symbol.empty() && !names.contains("") && !names.contains(action.symbol)) {
      unknown.insert(action.symbol);
    }
  }
  if (!unknown.empty()) {
    bars.warnings.push_back(
        absl::StrCat("the factor file names instruments that are not in the data: ",
                     absl::StrJoin(unknown, ", ")));
  }
  bars.metadata["adjusted"] = absl::StrCat("forward by ", used, " of ", actions.size(), " actions");
  return absl::OkStatus();
}

}  // namespace vixen::market
