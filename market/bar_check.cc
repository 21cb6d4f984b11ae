// SPDX-License-Identifier: Apache-2.0
#include "market/bar_check.h"

#include "absl/strings/str_cat.h"
#include "market/format.h"

namespace vixen::market {

std::optional<BarFault> FindBarFault(double open, double high, double low, double close,
                                     double volume) {
  if (IsValidBar(open, high, low, close, volume)) return std::nullopt;
  const std::pair<const char*, double> fields[] = {
      {"open", open}, {"high", high}, {"low", low}, {"close", close}, {"volume", volume}};
  for (const auto& [field, value] : fields) {
    if (!std::isfinite(value)) return BarFault{field, value, "is not finite"};
    if (field == fields[4].first) {
      if (value < 0) return BarFault{field, value, "is below 0"};
    } else if (value <= 0) {
      return BarFault{field, value, "is not above 0"};
    }
  }
  if (high < low) {
    return BarFault{"high", high, absl::StrCat("is below low = ", FormatValue(low))};
  }
  const bool open_outside = open < low || open > high;
  return BarFault{
      open_outside ? "open" : "close", open_outside ? open : close,
      absl::StrCat("lies outside low ", FormatValue(low), " to high ", FormatValue(high))};
}

absl::Status ValidateBars(const Bars& bars) {
  const size_t size = bars.size();
  for (const size_t other : {bars.open.size(), bars.high.size(), bars.low.size(), bars.close.size(),
                             bars.volume.size(), bars.last.size()}) {
    if (other != size) {
      return absl::InvalidArgumentError(
          absl::StrCat("bars have ", size, " times but a column of ", other, " values"));
    }
  }
  if (size == 0) return absl::InvalidArgumentError("there are no bars");
  for (size_t row = 0; row < size; ++row) {
    const std::optional<BarFault> fault = FindBarFault(
        bars.open[row], bars.high[row], bars.low[row], bars.close[row], bars.volume[row]);
    if (fault) {
      return absl::InvalidArgumentError(
          absl::StrCat("row ", row, ", time ", FormatUtc(bars.timestamp[row]), ": ", fault->field,
                       " = ", FormatValue(fault->value), " ", fault->rule));
    }
    if (row > 0 && bars.last[row - 1] == 0 && bars.timestamp[row] <= bars.timestamp[row - 1]) {
      return absl::InvalidArgumentError(
          absl::StrCat("row ", row, ", time ", FormatUtc(bars.timestamp[row]), " is not after row ",
                       row - 1, " (", FormatUtc(bars.timestamp[row - 1]), ")"));
    }
  }
  if (bars.last.back() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("row ", size - 1, " last = 0: the final bar must end its segment"));
  }
  return absl::OkStatus();
}

}  // namespace vixen::market
