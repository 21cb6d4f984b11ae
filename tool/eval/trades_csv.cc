// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/trades_csv.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "market/format.h"

namespace vixen::tool {
namespace {

uint32_t FoldOf(const Evaluation& evaluation, uint64_t step) {
  const auto after = std::upper_bound(
      evaluation.parts.begin(), evaluation.parts.end(), step,
      [](uint64_t at, const EvaluationPart& part) { return at < part.first_step; });
  return after == evaluation.parts.begin() ? 0 : std::prev(after)->fold;
}

}  // namespace

std::string TradesCsv(const Evaluation& evaluation) {
  std::string csv =
      "number,side,status,fold,entry_step,entry_time,entry_price,exit_step,exit_time,exit_price,"
      "units,last_units,bars,resizes,costs,profit,profit_before_costs\n";
  uint64_t number = 0;
  for (const Trade& trade : evaluation.trades) {
    absl::StrAppend(&csv, ++number, ",", trade.units > 0 ? "long" : "short", ",",
                    trade.open ? "open" : "closed", ",", FoldOf(evaluation, trade.entry_step) + 1,
                    ",", trade.entry_step, ",", market::FormatUtc(trade.entry_time), ",",
                    market::FormatValue(trade.entry_price), ",");
    absl::StrAppend(&csv, trade.exit_step, ",", market::FormatUtc(trade.exit_time), ",",
                    market::FormatValue(trade.exit_price), ",", market::FormatValue(trade.units),
                    ",", market::FormatValue(trade.last_units), ",", trade.bars, ",", trade.resizes,
                    ",", market::FormatValue(trade.costs), ",", market::FormatValue(trade.profit),
                    ",", market::FormatValue(trade.profit + trade.costs), "\n");
  }
  return csv;
}

}  // namespace vixen::tool
