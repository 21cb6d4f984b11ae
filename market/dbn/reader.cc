// SPDX-License-Identifier: Apache-2.0
#include "market/dbn/reader.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <map>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/exit_code.h"
#include "base/status_macros.h"
#include "market/bar_check.h"
#include "market/dbn/input.h"
#include "market/dbn/layout.h"
#include "market/dbn/metadata.h"
#include "market/dbn/symbols.h"
#include "market/format.h"
#include "market/instrument_bars.h"

namespace vixen::market {
namespace {

using dbn::Input;
using dbn::Load;

constexpr size_t kLongestRecord = 255 * 4;
constexpr int64_t kDay = 86'400'000'000'000;
constexpr int kNotWanted = -1;
constexpr uint64_t kMostReserved = 1 << 26;  // bars
constexpr size_t kMostOthers = 20;           // instruments that are kept to be named in an error
constexpr std::pair<const char*, uint8_t> kIntervals[] = {{"1s", dbn::kOhlcv1s},
                                                          {"1m", dbn::kOhlcv1m},
                                                          {"1h", dbn::kOhlcv1h},
                                                          {"1d", dbn::kOhlcv1d},
                                                          {"eod", dbn::kOhlcvEod}};
constexpr char kOtherPublishers[] = "records of other publishers";
constexpr char kOtherInstruments[] = "records of other instruments";
constexpr char kNoPrice[] = "bars with an undefined price";
constexpr char kRepeated[] = "bars of a repeated time";

const char* IntervalName(uint8_t type) {
  for (const auto& [name, number] : kIntervals) {
    if (number == type) return name;
  }
  return "?";
}

// The record type of a file's bars that do not say their interval; 0 when the schema does not
// either.
uint8_t TypeOfSchema(uint16_t schema) {
  if (schema >= 5 && schema <= 8) return static_cast<uint8_t>(dbn::kOhlcv1s + schema - 5);
  return schema == 13 ? dbn::kOhlcvEod : 0;
}

uint64_t KeyOf(const uint8_t* record) {
  return uint64_t{Load<uint16_t>(record + 2)} << 32 | Load<uint32_t>(record + 4);
}

absl::Status CheckSchema(const std::string& path, uint16_t schema) {
  if (schema == dbn::kMixedSchema || TypeOfSchema(schema) != 0) return absl::OkStatus();
  const std::string name = dbn::SchemaName(schema);
  return absl::UnimplementedError(absl::StrCat(
      path, ": schema ", name == "unknown" ? absl::StrCat("number ", schema) : name,
      schema == 2 ? " (order books of ten levels) is not imported: the environment trades on bars"
                  : " holds no bars",
      "; get ohlcv-1s, ohlcv-1m, ohlcv-1h or ohlcv-1d of the same symbols"));
}

struct Series {
  InstrumentBars bars;
  uint32_t file = 0;  // of the bar that stands last
  uint64_t record = 0;
  bool cut = false;  // the next bar begins a segment
};

class Reader {
 public:
  Reader(const std::vector<std::string>& paths, const DbnOptions& options)
      : paths_(paths), options_(options) {}

  absl::StatusOr<Bars> Read();

 private:
  // Where the bars of a publisher's instrument go, for days that have the same answer.
  struct Route {
    int32_t first_day = 0, end_day = 0;
    int series = kNotWanted;
  };
  // The instrument that stands behind a name now.
  struct Current {
    uint16_t publisher = 0;
    uint32_t instrument = 0;
    int series = 0;
  };

  absl::Status ChooseInterval();
  absl::Status ReadFile(const std::string& path);
  absl::Status AddRecord(const Input& input, const dbn::Metadata& metadata, size_t size);
  absl::Status AddBar(const uint8_t* record);
  absl::StatusOr<int> SeriesOf(const uint8_t* record, int32_t day);
  absl::StatusOr<int> SeriesOfName(const std::string& name, uint16_t publisher,
                                   uint32_t instrument);
  void Reserve(InstrumentBars& bars) const;
  bool IsWanted(const std::string& name, uint32_t instrument) const;
  absl::Status AddToSeries(int64_t time, const std::array<int64_t, 4>& prices, uint64_t volume,
                           Series& series);
  absl::Status Fault(int64_t time, const std::string& fault) const;
  absl::Status CheckKinds() const;
  std::string KindsText() const;
  absl::StatusOr<Bars> Finish();

  const std::vector<std::string>& paths_;
  const DbnOptions& options_;
  dbn::Symbols symbols_;
  std::vector<Series> series_;
  std::map<std::string, Current> current_;
  std::unordered_map<uint64_t, Route> routes_;
  uint64_t last_key_ = 0;
  Route* last_route_ = nullptr;
  uint8_t type_ = 0;  // of the bars that are read; 0: none was seen yet
  uint32_t file_ = 0;
  uint64_t record_ = 0;  // in the file, from 0
  std::array<uint64_t, 256> kinds_{};
  std::map<std::string, uint64_t> left_out_;
  std::vector<std::string> others_, datasets_;
};

absl::Status Reader::Fault(int64_t time, const std::string& fault) const {
  return absl::InvalidArgumentError(
      absl::StrCat(paths_[file_], ": record ", record_, ", time ", FormatUtc(time), ": ", fault));
}

absl::Status Reader::ChooseInterval() {
  if (options_.interval.empty()) return absl::OkStatus();
  std::vector<std::string> names;
  for (const auto& [name, number] : kIntervals) {
    if (options_.interval == name) type_ = number;
    names.push_back(name);
  }
  if (type_ != 0) return absl::OkStatus();
  return base::UsageError(
      absl::StrCat("--interval ", options_.interval, ": give one of ", absl::StrJoin(names, ", ")));
}

bool Reader::IsWanted(const std::string& name, uint32_t instrument) const {
  if (options_.symbols.empty()) return true;
  const std::string id = absl::StrCat(instrument);
  const std::string_view symbol = std::string_view(name).substr(0, name.rfind('/'));
  return std::ranges::any_of(options_.symbols, [&](const std::string& wanted) {
    return wanted == name || wanted == symbol || wanted == id;
  });
}

void Reader::Reserve(InstrumentBars& bars) const {
  uint64_t bytes = 0;
  for (const std::string& path : paths_) {
    std::error_code error;
    const uint64_t size = std::filesystem::file_size(path, error);
    if (!error) bytes += size;
  }
  const uint64_t count = std::min(bytes / dbn::kOhlcvBytes, kMostReserved);
  bars.time.reserve(count);
  for (auto* column : {&bars.open, &bars.high, &bars.low, &bars.close, &bars.volume}) {
    column->reserve(count);
  }
}

absl::StatusOr<int> Reader::SeriesOfName(const std::string& name, uint16_t publisher,
                                         uint32_t instrument) {
  const auto [place, added] = current_.try_emplace(name);
  Current& current = place->second;
  if (!added && current.publisher != publisher) {
    return base::UsageError(absl::StrCat(
        paths_[file_], ": record ", record_, ": instrument ", name, " comes from publishers ",
        current.publisher, " and ", publisher, "; choose one by --publisher ", current.publisher));
  }
  if (added || current.instrument != instrument) {
    current = {publisher, instrument, static_cast<int>(series_.size())};
    series_.emplace_back().bars.name = name;
    // Mostly all records are one instrument's bars; what is reserved in vain is never touched.
    if (series_.size() == 1) Reserve(series_[0].bars);
  }
  return current.series;
}

absl::StatusOr<int> Reader::SeriesOf(const uint8_t* record, int32_t day) {
  const uint16_t publisher = Load<uint16_t>(record + 2);
  const uint32_t instrument = Load<uint32_t>(record + 4);
  const uint64_t key = KeyOf(record);
  if (last_route_ == nullptr || key != last_key_) {
    last_route_ = &routes_[key];
    last_key_ = key;
  }
  Route& route = *last_route_;
  if (day >= route.first_day && day < route.end_day) return route.series;
  const dbn::DayName name = symbols_.NameOf(instrument, day);
  route = {name.first_day, name.end_day, kNotWanted};
  if (!IsWanted(name.name, instrument)) {
    if (others_.size() < kMostOthers && std::ranges::find(others_, name.name) == others_.end()) {
      others_.push_back(name.name);
    }
    return kNotWanted;
  }
  VIXEN_ASSIGN_OR_RETURN(route.series, SeriesOfName(name.name, publisher, instrument));
  return route.series;
}

absl::Status Reader::AddBar(const uint8_t* record) {
  if (options_.publisher && Load<uint16_t>(record + 2) != *options_.publisher) {
    ++left_out_[kOtherPublishers];
    return absl::OkStatus();
  }
  const uint64_t event = Load<uint64_t>(record + 8);
  if (event > static_cast<uint64_t>(INT64_MAX)) {
    return absl::InvalidArgumentError(absl::StrCat(
        paths_[file_], ": record ", record_, ": ts_event = ", event,
        event == dbn::kUndefinedTime ? " stands for no time" : " lies beyond the year 2262"));
  }
  const int64_t time = static_cast<int64_t>(event);
  const int32_t day = static_cast<int32_t>(time / kDay);
  const uint64_t key = KeyOf(record);
  int series = kNotWanted;
  if (last_route_ != nullptr && key == last_key_ && day >= last_route_->first_day &&
      day < last_route_->end_day) {
    series = last_route_->series;
  } else {
    VIXEN_ASSIGN_OR_RETURN(series, SeriesOf(record, day));
  }
  if (series == kNotWanted) {
    ++left_out_[kOtherInstruments];
    return absl::OkStatus();
  }
  const std::array<int64_t, 4> prices = {Load<int64_t>(record + 16), Load<int64_t>(record + 24),
                                         Load<int64_t>(record + 32), Load<int64_t>(record + 40)};
  return AddToSeries(time, prices, Load<uint64_t>(record + 48),
                     series_[static_cast<size_t>(series)]);
}

absl::Status Reader::AddToSeries(int64_t time, const std::array<int64_t, 4>& prices,
                                 uint64_t volume, Series& series) {
  constexpr const char* kFields[] = {"open", "high", "low", "close"};
  InstrumentBars& bars = series.bars;
  if (prices[0] == dbn::kUndefinedPrice || prices[1] == dbn::kUndefinedPrice ||
      prices[2] == dbn::kUndefinedPrice || prices[3] == dbn::kUndefinedPrice) {
    if (options_.missing == Missing::kError) {
      const auto at = std::ranges::find(prices, dbn::kUndefinedPrice) - prices.begin();
      return Fault(time, absl::StrCat(kFields[at],
                                      " = 9223372036854775807 stands for no price; "
                                      "--missing drop or segment leaves such bars out"));
    }
    ++left_out_[kNoPrice];
    series.cut |= options_.missing == Missing::kSegment;
    return absl::OkStatus();
  }
  const double open = static_cast<double>(prices[0]) / dbn::kPriceUnit;
  const double high = static_cast<double>(prices[1]) / dbn::kPriceUnit;
  const double low = static_cast<double>(prices[2]) / dbn::kPriceUnit;
  const double close = static_cast<double>(prices[3]) / dbn::kPriceUnit;
  const double traded = static_cast<double>(volume);
  if (!IsValidBar(open, high, low, close, traded)) {
    const BarFault fault = *FindBarFault(open, high, low, close, traded);
    return Fault(time, absl::StrCat(fault.field, " = ", FormatValue(fault.value), " ", fault.rule));
  }
  bool replace = false;
  if (!bars.time.empty() && time <= bars.time.back()) {
    const std::string before =
        absl::StrCat(series.file == file_ ? "" : absl::StrCat(paths_[series.file], ": "), "record ",
                     series.record, ", time ", FormatUtc(bars.time.back()));
    if (time < bars.time.back()) {
      return Fault(time, absl::StrCat("lies before ", before, " of the same instrument ", bars.name,
                                      "; files are read in the order given"));
    }
    if (options_.duplicates == Duplicates::kError) {
      return Fault(time, absl::StrCat("the time of ", before, " of the same instrument ", bars.name,
                                      " again; --duplicates first, last or segment accepts it"));
    }
    if (options_.duplicates == Duplicates::kSegment) {
      series.cut = true;
    } else {
      ++left_out_[kRepeated];
      if (options_.duplicates == Duplicates::kFirst) return absl::OkStatus();
      replace = true;
    }
  }
  series.file = file_;
  series.record = record_;
  if (replace) {
    bars.open.back() = open;
    bars.high.back() = high;
    bars.low.back() = low;
    bars.close.back() = close;
    bars.volume.back() = traded;
    return absl::OkStatus();
  }
  if (series.cut && !bars.time.empty()) bars.breaks.push_back(bars.size());
  series.cut = false;
  bars.time.push_back(time);
  bars.open.push_back(open);
  bars.high.push_back(high);
  bars.low.push_back(low);
  bars.close.push_back(close);
  bars.volume.push_back(traded);
  return absl::OkStatus();
}

absl::Status Reader::AddRecord(const Input& input, const dbn::Metadata& metadata, size_t size) {
  const uint8_t* record = input.data();
  uint8_t type = record[1];
  if (type == dbn::kSymbolMapping) {
    symbols_.AddRecord(record, size, metadata.version);
    routes_.clear();
    last_route_ = nullptr;
  }
  if (type == dbn::kOhlcvOld && TypeOfSchema(metadata.schema) != 0) {
    type = TypeOfSchema(metadata.schema);
  }
  ++kinds_[type];
  if (!dbn::IsOhlcv(type) || type == dbn::kOhlcvOld) return absl::OkStatus();
  if (type_ == 0) type_ = type;
  if (type != type_) return absl::OkStatus();
  if (size < dbn::kOhlcvBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(input.path(), ": record ", record_, " at offset ", input.offset(), " (",
                     dbn::RecordTypeName(type), ") has ", size, " bytes where ", dbn::kOhlcvBytes,
                     " are needed"));
  }
  return AddBar(record);
}

absl::Status Reader::ReadFile(const std::string& path) {
  VIXEN_ASSIGN_OR_RETURN(Input input, Input::Open(path));
  VIXEN_ASSIGN_OR_RETURN(const dbn::Metadata metadata, dbn::ReadMetadata(input));
  VIXEN_RETURN_IF_ERROR(CheckSchema(path, metadata.schema));
  if (std::ranges::find(datasets_, metadata.dataset) == datasets_.end()) {
    datasets_.push_back(metadata.dataset);
  }
  symbols_.StartFile(metadata);
  routes_.clear();
  last_route_ = nullptr;
  absl::Status damage;  // found ahead: what stands before it is read first
  for (record_ = 0;; ++record_) {
    if (input.available() < kLongestRecord && damage.ok()) damage = input.Need(kLongestRecord);
    const size_t size = input.available() == 0 ? 0 : size_t{input.data()[0]} * 4;
    if (input.available() < std::max(size, size_t{1}) && !damage.ok()) {
      return absl::Status(damage.code(),
                          absl::StrCat(damage.message(), ", after ", record_, " whole records"));
    }
    if (input.available() == 0) return absl::OkStatus();
    if (size < dbn::kRecordHeaderBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": record ", record_, " at offset ", input.offset(), " says that it has ", size,
          " bytes; its header alone has ", dbn::kRecordHeaderBytes));
    }
    if (input.available() < size) {
      return absl::DataLossError(absl::StrCat(
          path, ": record ", record_, " at offset ", input.offset(), " is cut: ", input.available(),
          " of ", size, " bytes; the ", record_, " records before it are whole"));
    }
    VIXEN_RETURN_IF_ERROR(AddRecord(input, metadata, size));
    input.Skip(size);
  }
}

std::string Reader::KindsText() const {
  std::vector<std::string> kinds;
  for (size_t type = 0; type < kinds_.size(); ++type) {
    if (kinds_[type] == 0) continue;
    kinds.push_back(
        absl::StrCat(dbn::RecordTypeName(static_cast<uint8_t>(type)), " (", kinds_[type], ")"));
  }
  return kinds.empty() ? "no record" : absl::StrJoin(kinds, ", ");
}

absl::Status Reader::CheckKinds() const {
  std::vector<std::string> intervals;
  for (const auto& [name, type] : kIntervals) {
    if (kinds_[type] > 0) intervals.push_back(absl::StrCat(name, " (", kinds_[type], " bars)"));
  }
  const std::string files = absl::StrJoin(paths_, ", ");
  if (options_.interval.empty() && intervals.size() > 1) {
    return base::UsageError(
        absl::StrCat(files, ": bars of several intervals: ", absl::StrJoin(intervals, ", "),
                     "; choose one by --interval ", IntervalName(type_)));
  }
  if (type_ == 0 || kinds_[type_] == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        files, ": no bars", options_.interval.empty() ? "" : " of interval ", options_.interval,
        "; found: ", KindsText(),
        kinds_[dbn::kMbp10] > 0 ? "; order books are not imported, get an ohlcv schema" : ""));
  }
  return absl::OkStatus();
}

absl::StatusOr<Bars> Reader::Finish() {
  VIXEN_RETURN_IF_ERROR(CheckKinds());
  Bars bars;
  std::vector<std::string> names;
  for (Series& series : series_) {
    if (series.bars.size() == 0) continue;
    if (std::ranges::find(names, series.bars.name) == names.end())
      names.push_back(series.bars.name);
    AppendInstrument(std::move(series.bars), bars);
  }
  if (bars.size() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        absl::StrJoin(paths_, ", "), ": no bar is left",
        options_.symbols.empty()
            ? ""
            : absl::StrCat(" of instrument ", absl::StrJoin(options_.symbols, ", "),
                           "; found: ", absl::StrJoin(others_, ", ")),
        options_.publisher ? absl::StrCat(" of publisher ", *options_.publisher) : ""));
  }
  for (size_t type = 0; type < kinds_.size(); ++type) {
    if (type == type_ || kinds_[type] == 0) continue;
    left_out_[absl::StrCat("records of kind ", dbn::RecordTypeName(static_cast<uint8_t>(type)))] =
        kinds_[type];
  }
  bars.left_out = std::move(left_out_);
  bars.metadata["symbols"] = absl::StrJoin(names, ",");
  bars.metadata["dbn_dataset"] = absl::StrJoin(datasets_, ",");
  bars.metadata["bar_interval"] = IntervalName(type_);
  return bars;
}

absl::StatusOr<Bars> Reader::Read() {
  VIXEN_RETURN_IF_ERROR(ChooseInterval());
  for (file_ = 0; file_ < paths_.size(); ++file_) VIXEN_RETURN_IF_ERROR(ReadFile(paths_[file_]));
  return Finish();
}

}  // namespace

absl::StatusOr<Bars> ReadDbn(const std::vector<std::string>& paths, const DbnOptions& options) {
  return Reader(paths, options).Read();
}

}  // namespace vixen::market
