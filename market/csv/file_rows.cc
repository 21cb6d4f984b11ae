// SPDX-License-Identifier: Apache-2.0
#include "market/csv/file_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "market/bar_check.h"
#include "market/csv/columns.h"
#include "market/csv/fields.h"
#include "market/csv/line_reader.h"
#include "market/csv/number.h"
#include "market/csv/row_error.h"
#include "market/csv/split_lines.h"
#include "market/csv/time_column.h"

namespace vixen::market::csv {
namespace {

constexpr double kDatabentoUnit = 1e9;
constexpr std::string_view kDatabentoUndefined = "9223372036854775807";
constexpr std::string_view kNothing[] = {"", "nan", "n/a", "na", "null", "none", ".", "-"};
constexpr size_t kMostOtherInstruments = 20;  // that are kept to be named in an error

bool StandsForNothing(std::string_view field) {
  return std::ranges::any_of(kNothing, [field](std::string_view text) {
    return absl::EqualsIgnoreCase(absl::string_view(field.data(), field.size()),
                                  absl::string_view(text.data(), text.size()));
  });
}

class FileReader {
 public:
  FileReader(LineReader lines, const CsvOptions& options, Zone* zone, Instruments& instruments)
      : lines_(std::move(lines)), options_(options), zone_(zone), instruments_(instruments) {}

  absl::StatusOr<FileRows> Read();

 private:
  absl::Status FindHead();
  absl::Status FindColumns(std::string_view line);
  absl::Status AddLine(const SplitLine& line);
  absl::Status AddPrices();
  bool LacksPrice() const;
  absl::StatusOr<bool> AddInstrument();
  absl::StatusOr<double> Number(int column, const char* field) const;
  absl::StatusOr<double> Price(int column, const char* field) const;
  absl::Status Fault(const std::string& fault) const;
  std::string TimeText() const;
  std::string Place() const { return absl::StrCat(rows_.path, ": line ", lines_.line_number()); }

  LineReader lines_;
  const CsvOptions& options_;
  Zone* zone_;
  Instruments& instruments_;
  char delimiter_ = 0;
  Columns columns_;
  std::span<const std::string_view> fields_;  // of the row at hand
  std::span<const double> numbers_;           // its, NaN where a field is none
  uint64_t line_number_ = 0;                  // its
  std::optional<TimeColumn> times_;
  std::optional<bool> fixed_point_;  // Databento prices as integers in 1e-9
  uint64_t data_row_ = 0;
  std::optional<Zone> own_zone_;  // when the header itself says UTC
  std::string instrument_, scratch_;
  uint32_t number_ = 0;  // of instrument_
  FileRows rows_;
};

absl::Status FileReader::Fault(const std::string& fault) const {
  return RowError({rows_.path, line_number_, data_row_}, TimeText(), fault);
}

std::string FileReader::TimeText() const {
  const auto text = [this](int column) {
    return column >= 0 && column < static_cast<int>(fields_.size()) ? std::string(fields_[column])
                                                                    : std::string();
  };
  const std::string time = text(columns_.time), clock = text(columns_.clock);
  if (time.empty()) return "";
  return Quoted(clock.empty() ? time : absl::StrCat(time, " ", clock));
}

absl::Status FileReader::FindColumns(std::string_view line) {
  std::vector<std::string_view> fields;
  SplitFields(line, delimiter_, fields);
  const bool header = options_.header && IsHeader(fields, options_.decimal);
  if (header) {
    VIXEN_ASSIGN_OR_RETURN(columns_, ColumnsFromHeader(fields, options_, Place()));
  } else {
    VIXEN_ASSIGN_OR_RETURN(columns_, ColumnsWithoutHeader(fields, options_, Place()));
  }
  const auto name = [this](int column) { return column < 0 ? "" : columns_.names[column]; };
  rows_.volume_name = name(columns_.volume);
  rows_.tick_volume_name = name(columns_.tick_volume);
  if (columns_.utc && zone_ == nullptr) {
    VIXEN_ASSIGN_OR_RETURN(Zone utc, Zone::Parse("UTC"));
    own_zone_.emplace(std::move(utc));
    zone_ = &*own_zone_;
  }
  times_.emplace(zone_, options_.date_order);
  return header ? absl::OkStatus() : AddLine({line, fields, {}, lines_.line_number()});
}

absl::StatusOr<double> FileReader::Number(int column, const char* field) const {
  if (!numbers_.empty() && !std::isnan(numbers_[column])) return numbers_[column];
  const std::string_view text = fields_[column];
  const std::optional<double> value = ParseNumber(text, options_.decimal);
  if (value) return *value;
  const bool comma = options_.decimal == '.' && std::ranges::count(text, ',') == 1 &&
                     text.find('.') == std::string_view::npos;
  return Fault(absl::StrCat(field, " = ", Quoted(text), " is not a finite decimal number",
                            comma ? " (with a decimal comma: --decimal ,)" : ""));
}

absl::StatusOr<double> FileReader::Price(int column, const char* field) const {
  VIXEN_ASSIGN_OR_RETURN(const double value, Number(column, field));
  if (!columns_.databento) return value;
  const bool fixed_point = fields_[column].find('.') == std::string_view::npos;
  if (fixed_point != *fixed_point_) {
    return Fault(absl::StrCat(field, " = ", Quoted(fields_[column]), " is written in another way ",
                              "than the prices before (decimal, or integer in 1e-9)"));
  }
  if (fixed_point && fields_[column] == kDatabentoUndefined) {
    return Fault(absl::StrCat(field, " = ", Quoted(fields_[column]), " stands for no price"));
  }
  return fixed_point ? value / kDatabentoUnit : value;
}

absl::Status FileReader::AddPrices() {
  if (columns_.databento && !fixed_point_) {
    fixed_point_ = fields_[columns_.open].find('.') == std::string_view::npos;
    if (*fixed_point_ && !times_->integer_epoch()) {
      return Fault(
          absl::StrCat("open = ", Quoted(fields_[columns_.open]),
                       " is an integer beside a formatted time: Databento writes prices in "
                       "1e-9 with integer times, or both formatted"));
    }
  }
  VIXEN_ASSIGN_OR_RETURN(double open, Price(columns_.open, "open"));
  VIXEN_ASSIGN_OR_RETURN(double high, Price(columns_.high, "high"));
  VIXEN_ASSIGN_OR_RETURN(double low, Price(columns_.low, "low"));
  VIXEN_ASSIGN_OR_RETURN(double close, Price(columns_.close, "close"));
  double volume = 0, tick_volume = 0;
  if (columns_.volume >= 0) {
    VIXEN_ASSIGN_OR_RETURN(volume, Number(columns_.volume, "volume"));
  }
  if (columns_.tick_volume >= 0) {
    VIXEN_ASSIGN_OR_RETURN(tick_volume, Number(columns_.tick_volume, "tick volume"));
  }
  if (!IsValidBar(open, high, low, close, volume)) {
    const std::optional<BarFault> fault = FindBarFault(open, high, low, close, volume);
    const int column = fault->field == std::string_view("open")    ? columns_.open
                       : fault->field == std::string_view("high")  ? columns_.high
                       : fault->field == std::string_view("low")   ? columns_.low
                       : fault->field == std::string_view("close") ? columns_.close
                                                                   : columns_.volume;
    return Fault(absl::StrCat(fault->field, " = ", std::string(fields_[column]), " ", fault->rule));
  }
  if (tick_volume < 0) {
    return Fault(
        absl::StrCat("tick volume = ", std::string(fields_[columns_.tick_volume]), " is below 0"));
  }
  if (options_.adjust) {
    VIXEN_ASSIGN_OR_RETURN(const double adjusted,
                           Number(columns_.adjusted_close, "adjusted close"));
    if (adjusted <= 0) {
      return Fault(absl::StrCat("adjusted close = ", std::string(fields_[columns_.adjusted_close]),
                                " is not above 0"));
    }
    const double factor = adjusted / close;
    open *= factor;
    high *= factor;
    low *= factor;
    close *= factor;
    volume /= factor;
    tick_volume /= factor;
    if (!IsValidBar(open, high, low, close, volume)) {
      return Fault(absl::StrCat("adjusted close = ", std::string(fields_[columns_.adjusted_close]),
                                " makes prices that float64 cannot hold"));
    }
  }
  rows_.open.push_back(open);
  rows_.high.push_back(high);
  rows_.low.push_back(low);
  rows_.close.push_back(close);
  if (columns_.volume >= 0) rows_.volume.push_back(volume);
  if (columns_.tick_volume >= 0) rows_.tick_volume.push_back(tick_volume);
  return absl::OkStatus();
}

bool FileReader::LacksPrice() const {
  return std::ranges::any_of(std::array{columns_.open, columns_.high, columns_.low, columns_.close},
                             [this](int column) { return StandsForNothing(fields_[column]); });
}

// Leaves the number of the row's instrument in number_.
absl::StatusOr<bool> FileReader::AddInstrument() {
  if (columns_.instrument.empty()) {
    if (rows_.instrument.empty()) number_ = instruments_.NumberOf("");
    return true;
  }
  std::string& name = scratch_;
  name.clear();
  for (const int column : columns_.instrument) {
    if (!name.empty()) name += '/';
    name += fields_[column];
  }
  if (name.empty()) return Fault("the instrument is empty");
  const std::vector<std::string>& wanted = options_.symbols;
  if (!wanted.empty()) {
    const bool asked = std::ranges::any_of(columns_.instrument, [&](int column) {
      return std::ranges::find(wanted, fields_[column]) != wanted.end();
    });
    if (!asked) {
      ++rows_.unwanted;
      if (rows_.other_instruments.size() < kMostOtherInstruments &&
          std::ranges::find(rows_.other_instruments, name) == rows_.other_instruments.end()) {
        rows_.other_instruments.push_back(name);
      }
      return false;
    }
  }
  if (name != instrument_ || rows_.instrument.empty()) {
    instrument_ = name;
    number_ = instruments_.NumberOf(name);
  }
  return true;
}

absl::Status FileReader::AddLine(const SplitLine& line) {
  fields_ = line.fields;
  numbers_ = line.numbers;
  line_number_ = line.number;
  ++data_row_;
  if (fields_.size() != columns_.count()) {
    return Fault(absl::StrCat("has ", fields_.size(), " fields where ", columns_.count(),
                              " are expected: ", Quoted(line.text)));
  }
  VIXEN_ASSIGN_OR_RETURN(const bool wanted, AddInstrument());
  if (!wanted) return absl::OkStatus();
  const bool halves = columns_.clock >= 0;
  const absl::Status time = times_->Add(
      fields_[columns_.time], halves ? fields_[columns_.clock] : std::string_view(), halves);
  if (!time.ok()) {
    const std::string text = TimeText();
    return RowError({rows_.path, line_number_, data_row_}, "",
                    absl::StrCat("time = ", text.empty() ? "``" : text, time.message()));
  }
  if (options_.missing != Missing::kError && LacksPrice()) {
    times_->DropLast();
    ++rows_.missing;
    if (options_.missing == Missing::kSegment) rows_.cuts.push_back({rows_.open.size(), number_});
    return absl::OkStatus();
  }
  VIXEN_RETURN_IF_ERROR(AddPrices());
  rows_.instrument.push_back(number_);
  rows_.line.push_back(static_cast<uint32_t>(line_number_));
  rows_.row.push_back(static_cast<uint32_t>(data_row_));
  return absl::OkStatus();
}

// Up to the line that tells delimiter and columns; the first row with it when that is no header.
absl::Status FileReader::FindHead() {
  std::string_view line;
  uint64_t skipped = 0;
  for (;;) {
    VIXEN_ASSIGN_OR_RETURN(const bool more, lines_.Next(line));
    if (!more) break;
    delimiter_ = options_.delimiter != 0 ? options_.delimiter : FindDelimiter(line);
    if (delimiter_ != 0 && line.find(delimiter_) != std::string_view::npos) {
      return FindColumns(line);
    }
    if (skipped != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          rows_.path, ": line ", skipped, " and line ", lines_.line_number(),
          " hold a single column: ",
          options_.delimiter != 0 ? "the delimiter given does not occur"
                                  : "the delimiter is none of comma, semicolon and tab; say which "
                                    "by --delimiter"));
    }
    // Some vendors put their address above the header.
    skipped = lines_.line_number();
    rows_.warnings.push_back(
        absl::StrCat(Place(), " has a single field and was passed over: ", Quoted(line)));
  }
  return absl::InvalidArgumentError(
      skipped == 0 ? absl::StrCat(rows_.path, ": the file holds no line of data")
                   : absl::StrCat(rows_.path, ": line ", skipped,
                                  " holds a single column and nothing follows"));
}

absl::StatusOr<FileRows> FileReader::Read() {
  rows_.path = lines_.path();
  VIXEN_RETURN_IF_ERROR(FindHead());
  SplitLines lines(std::move(lines_), delimiter_, options_.decimal,
                   {columns_.open, columns_.high, columns_.low, columns_.close, columns_.volume,
                    columns_.tick_volume, columns_.adjusted_close});
  for (;;) {
    SplitLine line;
    VIXEN_ASSIGN_OR_RETURN(const bool more, lines.Next(line));
    if (!more) break;
    VIXEN_RETURN_IF_ERROR(AddLine(line));
  }
  if (data_row_ == 0) {
    return absl::InvalidArgumentError(absl::StrCat(rows_.path, ": a header but no bar below it"));
  }
  const auto place = [this](size_t row) {
    return RowPlace{rows_.path, rows_.line[row], rows_.row[row]};
  };
  rows_.date_only = times_->date_only();
  rows_.used_zone = times_->used_zone();
  absl::StatusOr<std::vector<int64_t>> times = times_->Finish(rows_.path, place);
  if (!times.ok()) return times.status();
  rows_.time = *std::move(times);
  return std::move(rows_);
}

}  // namespace

uint32_t Instruments::NumberOf(const std::string& name) {
  const auto [place, added] = numbers_.try_emplace(name, static_cast<uint32_t>(names_.size()));
  if (added) names_.push_back(name);
  return place->second;
}

absl::StatusOr<FileRows> ReadFileRows(const std::string& path, const CsvOptions& options,
                                      Zone* zone, Instruments& instruments) {
  VIXEN_ASSIGN_OR_RETURN(ByteSource source, ByteSource::Open(path));
  return FileReader(LineReader(std::move(source)), options, zone, instruments).Read();
}

}  // namespace vixen::market::csv
