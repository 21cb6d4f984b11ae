// SPDX-License-Identifier: Apache-2.0
#include "market/csv/file_rows.h"

#include <algorithm>
#include <optional>
#include <span>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "market/csv/calendar.h"
#include "market/csv/columns.h"
#include "market/csv/fields.h"
#include "market/csv/line_reader.h"
#include "market/csv/price_fields.h"
#include "market/csv/row_error.h"
#include "market/csv/split_lines.h"
#include "market/csv/time_column.h"

namespace vixen::market::csv {
namespace {

constexpr size_t kMostOtherInstruments = 20;  // that are kept to be named in an error

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
  absl::StatusOr<bool> AddInstrument();
  absl::StatusOr<bool> TakeFrameHead();
  bool PassBlank();
  absl::Status AddBlanks(uint64_t first_row);
  bool LooksLikeANote() const;
  absl::StatusOr<FileRows> CheckNumbering();
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
  std::optional<PriceFields> prices_;
  uint64_t data_row_ = 0;
  bool frame_head_seen_ = false;
  uint64_t blanks_ = 0;            // rows of delimiters alone below the last row so far
  uint64_t first_blank_line_ = 0;  // theirs
  std::optional<Zone> own_zone_;   // when the header itself says UTC
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
  if (columns_.adjusted_close >= 0 && !options_.adjust) {
    rows_.warnings.push_back(absl::StrCat(rows_.path, ": column ", name(columns_.adjusted_close),
                                          " was not used; --adjust takes all prices by it"));
  }
  times_.emplace(zone_, options_.date_order);
  prices_.emplace(columns_, options_);
  return header ? absl::OkStatus() : AddLine({line, fields, {}, lines_.line_number()});
}

absl::Status FileReader::AddPrices() {
  const absl::StatusOr<RowPrices> prices =
      prices_->Read({fields_, numbers_}, times_->integer_epoch());
  if (!prices.ok()) return Fault(std::string(prices.status().message()));
  rows_.open.push_back(prices->open);
  rows_.high.push_back(prices->high);
  rows_.low.push_back(prices->low);
  rows_.close.push_back(prices->close);
  if (columns_.volume >= 0) rows_.volume.push_back(prices->volume);
  if (columns_.tick_volume >= 0) rows_.tick_volume.push_back(prices->tick_volume);
  return absl::OkStatus();
}

// Leaves the number of the row's instrument in number_.
absl::StatusOr<bool> FileReader::AddInstrument() {
  if (columns_.instrument.empty()) {
    if (rows_.instrument.empty()) number_ = instruments_.NumberOf(instrument_);
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

bool FileReader::LooksLikeANote() const {
  return fields_.size() < columns_.count() && !ParseCalendarTime(fields_[0]) &&
         !ParseEpoch(fields_[0]);
}

// True when the line still belongs to the head of a data frame.
absl::StatusOr<bool> FileReader::TakeFrameHead() {
  if (!columns_.frame_head || data_row_ > 0 || fields_.size() != columns_.count()) return false;
  absl::StatusOr<bool> head = IsFrameHead(fields_, instrument_);
  if (!head.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(rows_.path, ": line ", line_number_, ": ", head.status().message()));
  }
  frame_head_seen_ |= *head;
  return head;
}

// True when the row is delimiters alone. Spreadsheets write such rows above and below their table;
// whether one stands inside is known when another row follows.
bool FileReader::PassBlank() {
  if (!std::ranges::all_of(fields_, &std::string_view::empty)) return false;
  if (data_row_ > 0 && fields_.size() > 1 && blanks_++ == 0) first_blank_line_ = line_number_;
  return true;
}

// The rows of delimiters alone between the last row and the one at hand: rows without a price.
absl::Status FileReader::AddBlanks(uint64_t first_row) {
  if (blanks_ == 0) return absl::OkStatus();
  if (options_.missing == Missing::kError) {
    return RowError({rows_.path, first_blank_line_, first_row}, "",
                    "is empty between two bars (--missing drop or --missing segment leaves such "
                    "rows out)");
  }
  rows_.missing += blanks_;
  blanks_ = 0;
  if (options_.missing == Missing::kSegment) {
    rows_.cuts.push_back(
        {rows_.open.size(), columns_.instrument.empty() ? number_ : SegmentCut::kEvery});
  }
  return absl::OkStatus();
}

absl::Status FileReader::AddLine(const SplitLine& line) {
  fields_ = line.fields;
  numbers_ = line.numbers;
  line_number_ = line.number;
  VIXEN_ASSIGN_OR_RETURN(const bool head, TakeFrameHead());
  if (head || PassBlank()) return absl::OkStatus();
  if (columns_.frame_head && !frame_head_seen_) {
    return absl::InvalidArgumentError(absl::StrCat(
        rows_.path, ": no column for time: the first is called ", Quoted(columns_.names[0]),
        ", and no line `Ticker,…` or `Date,…` of a data frame's head follows; name it: --columns "
        "time=…"));
  }
  const uint64_t row_after_last = data_row_ + 1;
  data_row_ += blanks_ + 1;
  if (fields_.size() != columns_.count()) {
    return Fault(
        absl::StrCat("has ", fields_.size(), " fields where ", columns_.count(),
                     " are expected: ", Quoted(line.text),
                     LooksLikeANote() ? " (a note? Delete the line, or put # before it)" : ""));
  }
  VIXEN_RETURN_IF_ERROR(AddBlanks(row_after_last));
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
  if (options_.missing != Missing::kError && prices_->Lacking(fields_)) {
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
  std::string only;  // the line that was skipped, quoted
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
    only = Quoted(line);
    rows_.warnings.push_back(
        absl::StrCat(Place(), " has a single field and was passed over: ", only));
  }
  return absl::InvalidArgumentError(
      skipped == 0 ? absl::StrCat(rows_.path, ": the file holds no line of data")
                   : absl::StrCat(rows_.path, ": line ", skipped,
                                  " holds a single column and nothing follows: ", only));
}

// A data frame's index without a name is its time, but may also count the rows.
absl::StatusOr<FileRows> FileReader::CheckNumbering() {
  constexpr int64_t kFirstTime = 100'000'000 * kNsPerSecond;  // 1973
  if (columns_.numbered && times_->integer_epoch() && !rows_.time.empty() &&
      std::ranges::max(rows_.time) < kFirstTime) {
    return absl::InvalidArgumentError(absl::StrCat(
        rows_.path, ": the first column has no name and holds numbers up to ",
        std::ranges::max(rows_.time) / kNsPerSecond,
        ": rows are numbered there, and no column is called time or date; name it: --columns "
        "time=…"));
  }
  return std::move(rows_);
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
  return CheckNumbering();
}

}  // namespace

absl::StatusOr<FileRows> ReadFileRows(const std::string& path, const CsvOptions& options,
                                      Zone* zone, Instruments& instruments) {
  VIXEN_ASSIGN_OR_RETURN(ByteSource source, ByteSource::Open(path));
  return FileReader(LineReader(std::move(source)), options, zone, instruments).Read();
}

}  // namespace vixen::market::csv
