// SPDX-License-Identifier: Apache-2.0
#include "market/dbn/series.h"

#include <algorithm>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "market/bar_check.h"
#include "market/dbn/layout.h"
#include "market/format.h"

namespace vixen::market::dbn {
namespace {

constexpr char kNoPrice[] = "bars with an undefined price";
constexpr char kRepeated[] = "bars of a repeated time";
constexpr const char* kFields[] = {"open", "high", "low", "close"};

struct Values {
  double open, high, low, close, volume;
};

// What a bar whose time does not lie after the last one's comes to.
enum class Repeated { kAppend, kReplace, kLeaveOut };

absl::StatusOr<Repeated> TreatTime(const RawBar& bar, RecordPlace place,
                                   const std::vector<std::string>& paths, Duplicates duplicates,
                                   Series& series) {
  const InstrumentBars& bars = series.bars;
  if (bars.time.empty() || bar.time > bars.time.back()) return Repeated::kAppend;
  const std::string before = absl::StrCat(
      series.last.file == place.file ? "" : absl::StrCat(paths[series.last.file], ": "), "record ",
      series.last.record, ", time ", FormatUtc(bars.time.back()));
  if (bar.time < bars.time.back()) {
    return BarFaultAt(paths, place, bar.time,
                      absl::StrCat("lies before ", before, " of the same instrument ", bars.name,
                                   "; files are read in the order given"));
  }
  switch (duplicates) {
    case Duplicates::kError:
      return BarFaultAt(paths, place, bar.time,
                        absl::StrCat("the time of ", before, " of the same instrument ", bars.name,
                                     " again; --duplicates first, last or segment accepts it"));
    case Duplicates::kSegment:
      series.cut = true;
      return Repeated::kAppend;
    case Duplicates::kFirst:
      return Repeated::kLeaveOut;
    case Duplicates::kLast:
      return Repeated::kReplace;
  }
  return Repeated::kAppend;
}

}  // namespace

absl::Status BarFaultAt(const std::vector<std::string>& paths, RecordPlace place, int64_t time,
                        const std::string& fault) {
  return absl::InvalidArgumentError(absl::StrCat(paths[place.file], ": record ", place.record,
                                                 ", time ", FormatUtc(time), ": ", fault));
}

absl::Status AppendBar(const RawBar& bar, RecordPlace place, const std::vector<std::string>& paths,
                       const DbnOptions& options, Series& series,
                       std::map<std::string, uint64_t>& left_out) {
  const std::array<int64_t, 4>& prices = bar.prices;
  if (prices[0] == kUndefinedPrice || prices[1] == kUndefinedPrice ||
      prices[2] == kUndefinedPrice || prices[3] == kUndefinedPrice) {
    if (options.missing == Missing::kError) {
      const auto at = std::ranges::find(prices, kUndefinedPrice) - prices.begin();
      return BarFaultAt(paths, place, bar.time,
                        absl::StrCat(kFields[at],
                                     " = 9223372036854775807 stands for no price; "
                                     "--missing drop or segment leaves such bars out"));
    }
    ++left_out[kNoPrice];
    series.cut |= options.missing == Missing::kSegment;
    return absl::OkStatus();
  }
  const Values values = {
      static_cast<double>(prices[0]) / kPriceUnit, static_cast<double>(prices[1]) / kPriceUnit,
      static_cast<double>(prices[2]) / kPriceUnit, static_cast<double>(prices[3]) / kPriceUnit,
      static_cast<double>(bar.volume)};
  const auto& [open, high, low, close, volume] = values;
  if (!IsValidBar(open, high, low, close, volume)) {
    const BarFault fault = *FindBarFault(open, high, low, close, volume);
    return BarFaultAt(paths, place, bar.time,
                      absl::StrCat(fault.field, " = ", FormatValue(fault.value), " ", fault.rule));
  }
  VIXEN_ASSIGN_OR_RETURN(const Repeated repeated,
                         TreatTime(bar, place, paths, options.duplicates, series));
  if (repeated != Repeated::kAppend) ++left_out[kRepeated];
  if (repeated == Repeated::kLeaveOut) return absl::OkStatus();
  series.last = place;
  InstrumentBars& bars = series.bars;
  if (repeated == Repeated::kReplace) {
    bars.open.back() = open;
    bars.high.back() = high;
    bars.low.back() = low;
    bars.close.back() = close;
    bars.volume.back() = volume;
    return absl::OkStatus();
  }
  if (series.cut && !bars.time.empty()) bars.breaks.push_back(bars.size());
  series.cut = false;
  bars.time.push_back(bar.time);
  bars.open.push_back(open);
  bars.high.push_back(high);
  bars.low.push_back(low);
  bars.close.push_back(close);
  bars.volume.push_back(volume);
  return absl::OkStatus();
}

}  // namespace vixen::market::dbn
