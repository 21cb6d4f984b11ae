// SPDX-License-Identifier: Apache-2.0
#include "market/dbn/reader.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/exit_code.h"
#include "base/status_macros.h"
#include "market/dbn/input.h"
#include "market/dbn/layout.h"
#include "market/dbn/metadata.h"
#include "market/dbn/routes.h"
#include "market/dbn/series.h"
#include "market/instrument_bars.h"

namespace vixen::market {
namespace {

using dbn::Input;
using dbn::Load;

constexpr size_t kLongestRecord = 255 * 4;
constexpr int64_t kDay = 86'400'000'000'000;
constexpr uint64_t kMostReserved = 1 << 26;  // bars
constexpr std::pair<const char*, uint8_t> kIntervals[] = {{"1s", dbn::kOhlcv1s},
                                                          {"1m", dbn::kOhlcv1m},
                                                          {"1h", dbn::kOhlcv1h},
                                                          {"1d", dbn::kOhlcv1d},
                                                          {"eod", dbn::kOhlcvEod}};
constexpr char kOtherPublishers[] = "records of other publishers";
constexpr char kOtherInstruments[] = "records of other instruments";

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

absl::Status CheckSchema(const std::string& path, uint16_t schema) {
  if (schema == dbn::kMixedSchema || TypeOfSchema(schema) != 0) return absl::OkStatus();
  const std::string name = dbn::SchemaName(schema);
  return absl::UnimplementedError(absl::StrCat(
      path, ": schema ", name == "unknown" ? absl::StrCat("number ", schema) : name,
      schema == 2 ? " (order books of ten levels) is not imported: the environment trades on bars"
                  : " holds no bars",
      "; get ohlcv-1s, ohlcv-1m, ohlcv-1h or ohlcv-1d of the same symbols"));
}

class Reader {
 public:
  Reader(const std::vector<std::string>& paths, const DbnOptions& options)
      : paths_(paths), options_(options), routes_(options) {}

  absl::StatusOr<Bars> Read();

 private:
  absl::Status ChooseInterval();
  absl::Status ReadFile(const std::string& path);
  absl::Status AddRecord(const Input& input, const dbn::Metadata& metadata, size_t size);
  absl::Status AddBar(const uint8_t* record);
  void Reserve(InstrumentBars& bars) const;
  absl::Status CheckKinds() const;
  std::string KindsText() const;
  absl::StatusOr<Bars> Finish();

  const std::vector<std::string>& paths_;
  const DbnOptions& options_;
  // Mostly all records are one instrument's bars; what is reserved in vain is never touched.
  const std::function<void(const std::string&)> open_series_ = [this](const std::string& name) {
    series_.emplace_back().bars.name = name;
    if (series_.size() == 1) Reserve(series_[0].bars);
  };
  dbn::Routes routes_;
  std::vector<dbn::Series> series_;
  uint8_t type_ = 0;        // of the bars that are read; 0: none was seen yet
  dbn::RecordPlace place_;  // of the record that is read
  std::array<uint64_t, 256> kinds_{};
  std::map<std::string, uint64_t> left_out_;
  std::vector<std::string> datasets_;
};

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

absl::Status Reader::AddBar(const uint8_t* record) {
  if (options_.publisher && Load<uint16_t>(record + 2) != *options_.publisher) {
    ++left_out_[kOtherPublishers];
    return absl::OkStatus();
  }
  const uint64_t event = Load<uint64_t>(record + 8);
  if (event > static_cast<uint64_t>(INT64_MAX)) {
    return absl::InvalidArgumentError(absl::StrCat(
        paths_[place_.file], ": record ", place_.record, ": ts_event = ", event,
        event == dbn::kUndefinedTime ? " stands for no time" : " lies beyond the year 2262"));
  }
  const int64_t time = static_cast<int64_t>(event);
  const absl::StatusOr<int> series =
      routes_.Find(record, static_cast<int32_t>(time / kDay), open_series_);
  if (!series.ok()) {
    return base::UsageError(absl::StrCat(paths_[place_.file], ": record ", place_.record, ": ",
                                         series.status().message()));
  }
  if (*series == dbn::Routes::kNotWanted) {
    ++left_out_[kOtherInstruments];
    return absl::OkStatus();
  }
  const dbn::RawBar bar = {time,
                           {Load<int64_t>(record + 16), Load<int64_t>(record + 24),
                            Load<int64_t>(record + 32), Load<int64_t>(record + 40)},
                           Load<uint64_t>(record + 48)};
  return dbn::AppendBar(bar, place_, paths_, options_, series_[static_cast<size_t>(*series)],
                        left_out_);
}

absl::Status Reader::AddRecord(const Input& input, const dbn::Metadata& metadata, size_t size) {
  const uint8_t* record = input.data();
  uint8_t type = record[1];
  if (type == dbn::kSymbolMapping) {
    routes_.AddMapping(record, size, metadata.version);
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
        absl::StrCat(input.path(), ": record ", place_.record, " at offset ", input.offset(), " (",
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
  routes_.StartFile(metadata);
  absl::Status damage;  // found ahead: what stands before it is read first
  for (place_.record = 0;; ++place_.record) {
    if (input.available() < kLongestRecord && damage.ok()) damage = input.Need(kLongestRecord);
    const size_t size = input.available() == 0 ? 0 : size_t{input.data()[0]} * 4;
    if (input.available() < std::max(size, size_t{1}) && !damage.ok()) {
      return absl::Status(damage.code(), absl::StrCat(damage.message(), ", after ", place_.record,
                                                      " whole records"));
    }
    if (input.available() == 0) return absl::OkStatus();
    if (size < dbn::kRecordHeaderBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": record ", place_.record, " at offset ", input.offset(), " says that it has ",
          size, " bytes; its header alone has ", dbn::kRecordHeaderBytes));
    }
    if (input.available() < size) {
      return absl::DataLossError(absl::StrCat(path, ": record ", place_.record, " at offset ",
                                              input.offset(), " is cut: ", input.available(),
                                              " of ", size, " bytes; the ", place_.record,
                                              " records before it are whole"));
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
  for (dbn::Series& series : series_) {
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
                           "; found: ", absl::StrJoin(routes_.others(), ", ")),
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
  for (place_.file = 0; place_.file < paths_.size(); ++place_.file)
    VIXEN_RETURN_IF_ERROR(ReadFile(paths_[place_.file]));
  return Finish();
}

}  // namespace

absl::StatusOr<Bars> ReadDbn(const std::vector<std::string>& paths, const DbnOptions& options) {
  return Reader(paths, options).Read();
}

}  // namespace vixen::market
