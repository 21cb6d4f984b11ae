// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/trades_csv.h"

#include <algorithm>
#include <charconv>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace vixen::tool {
namespace {

std::string Exact(double value) {
  char text[32];
  const auto end = std::to_chars(std::begin(text), std::end(text), value);
  return {text, end.ptr};
}

std::string IsoTime(int64_t nanoseconds) {
  int64_t seconds = nanoseconds / 1'000'000'000;
  int64_t fraction = nanoseconds % 1'000'000'000;
  if (fraction < 0) {
    fraction += 1'000'000'000;
    --seconds;
  }
  const std::time_t time = seconds;
  std::tm utc{};
  gmtime_r(&time, &utc);
  std::string text =
      absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02d", utc.tm_year + 1900, utc.tm_mon + 1,
                      utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
  if (fraction != 0) absl::StrAppendFormat(&text, ".%09d", fraction);
  return text + "Z";
}

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
                    ",", trade.entry_step, ",", IsoTime(trade.entry_time), ",",
                    Exact(trade.entry_price), ",");
    absl::StrAppend(&csv, trade.exit_step, ",", IsoTime(trade.exit_time), ",",
                    Exact(trade.exit_price), ",", Exact(trade.units), ",", Exact(trade.last_units),
                    ",", trade.bars, ",", trade.resizes, ",", Exact(trade.costs), ",",
                    Exact(trade.profit), ",", Exact(trade.profit + trade.costs), "\n");
  }
  return csv;
}

}  // namespace vixen::tool
