// SPDX-License-Identifier: Apache-2.0
// Trades, actions, barriers and reward terms: what the policy does and what it is paid for.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tool/format.h"
#include "tool/report/html.h"
#include "tool/report/sections.h"

namespace vixen::tool {
namespace {

constexpr size_t kMostTradeRows = 200;

std::string SignedClass(double value) { return value > 0 ? "gain" : value < 0 ? "loss" : ""; }

void TradeRow(const Trade& trade, size_t number, Table& table) {
  table.Row({{absl::StrCat(number)},
             {trade.units > 0 ? "long" : "short"},
             {Time(trade.entry_time)},
             {trade.open ? "open" : Time(trade.exit_time)},
             {Significant(trade.entry_price, 6)},
             {Significant(trade.exit_price, 6)},
             {Significant(trade.units, 6)},
             {Count(trade.bars)},
             {Count(trade.resizes)},
             {Decimal(trade.costs, 2)},
             {Decimal(trade.profit, 2), SignedClass(trade.profit)}});
}

Table ShareTable(std::string what, const std::vector<std::pair<std::string, double>>& rows,
                 bool counts) {
  double sum = 0;
  for (const auto& [name, value] : rows) sum += value;
  Table table(counts ? std::vector<Cell>{{std::move(what)}, {"steps"}, {"share"}, {""}}
                     : std::vector<Cell>{{std::move(what)}, {"share"}, {""}});
  for (const auto& [name, value] : rows) {
    const double share = sum > 0 ? value / sum : 0;
    std::vector<Cell> cells = {{name}};
    if (counts) cells.push_back({Decimal(value, 0)});
    cells.push_back({Percent(share)});
    cells.push_back({.bar = share});
    table.Row(std::move(cells));
  }
  return table;
}

std::string ActionName(size_t action) {
  static constexpr const char* kLevels[] = {"short", "half short", "flat", "half long", "long"};
  static constexpr const char* kOrders[] = {"market", "limit", "IOC"};
  static constexpr const char* kUrgencies[] = {"patient", "normal", "aggressive"};
  const size_t style = action % kernels::kStyles;
  return absl::StrCat(action, " ", kLevels[action / kernels::kStyles], ", ", kOrders[style / 3],
                      " ", kUrgencies[style % 3]);
}

template <size_t kSize>
std::string OutcomeTable(const char* what, const std::array<const char*, kSize>& names,
                         const std::array<Outcome, kSize>& outcomes) {
  uint64_t steps = 0;
  for (const Outcome& outcome : outcomes) steps += outcome.steps;
  Table table({{what}, {"steps"}, {"share"}, {""}, {"profit"}, {"costs"}});
  for (size_t i = 0; i < kSize; ++i) {
    const Outcome& outcome = outcomes[i];
    const double share =
        static_cast<double>(outcome.steps) / static_cast<double>(std::max<uint64_t>(steps, 1));
    table.Row({{names[i]},
               {Count(outcome.steps)},
               {Percent(share)},
               {.bar = share},
               {Decimal(outcome.profit, 0), SignedClass(outcome.profit)},
               {Decimal(outcome.costs, 0)}});
  }
  return table.Html();
}

std::string RewardTable(const Evaluation& evaluation) {
  const kernels::LaunchStatistics& statistics = evaluation.statistics;
  const auto shares = RewardVarianceShares(statistics);
  const auto n = static_cast<double>(std::max<uint64_t>(statistics.valid_rows, 1));
  Table table({{"reward term"}, {"sum"}, {"mean a step"}, {"deviation"}, {"variance"}, {""}});
  for (size_t i = 0; i < shares.size(); ++i) {
    const double mean = statistics.term_sum[i] / n;
    const double variance = std::max(statistics.term_sum_squares[i] / n - mean * mean, 0.0);
    table.Row({{RewardTermNames()[i]},
               {Significant(statistics.term_sum[i])},
               {Significant(mean)},
               {Significant(std::sqrt(variance))},
               {Percent(shares[i])},
               {.bar = shares[i]}});
  }
  return table.Html();
}

}  // namespace

std::string TradeSection(const Evaluation& evaluation) {
  const auto& trades = evaluation.trades;
  std::string html = Element("h2", "Trades");
  if (trades.empty()) return html + Element("p", "None.", "note");
  html +=
      Element("p",
              "From flat or a reversal to flat or a reversal; profit net of fees, spread and "
              "interest. Open trades are marked at the last close and are not among the closed.",
              "sub");
  Table table({{"#"},
               {"side"},
               {"entry"},
               {"exit"},
               {"entry price"},
               {"exit price"},
               {"units"},
               {"bars"},
               {"resizes"},
               {"costs"},
               {"net profit"}});
  const size_t shown = std::min(trades.size(), kMostTradeRows);
  for (size_t i = trades.size() - shown; i < trades.size(); ++i) {
    TradeRow(trades[i], evaluation.trades_left_out + i + 1, table);
  }
  const std::string rows = table.Html();
  const uint64_t all = trades.size() + evaluation.trades_left_out;
  if (shown < all) {
    html += Element(
        "p",
        absl::StrCat("The last ", shown, " of ", Count(all), "; vixen eval --trades writes all."),
        "note");
  }
  if (shown <= 12) return html + rows;
  return absl::StrCat(html, "<details><summary>Show ", shown, " trades</summary>", rows,
                      "</details>\n");
}

std::string BehaviourSection(const Evaluation& evaluation) {
  std::vector<std::pair<std::string, double>> actions;
  for (size_t i = 0; i < evaluation.action.size(); ++i) {
    if (evaluation.action[i] > 0) actions.emplace_back(ActionName(i), evaluation.action[i]);
  }
  std::stable_sort(actions.begin(), actions.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string html = Element("h2", "What the policy does");
  html += Element("p",
                  "Steps by the exposure that was chosen, and by the barrier that was hit in them; "
                  "net profit and costs of those steps.",
                  "sub");
  html += OutcomeTable("chosen exposure", ExposureNames(), evaluation.by_exposure) +
          OutcomeTable("barrier result", BarrierNames(), evaluation.by_barrier);
  html += "<details><summary>Every action</summary>" + ShareTable("action", actions, true).Html() +
          "</details>\n";
  html += Element("h2", "What the reward is made of");
  html +=
      Element("p",
              "Share of the terms’ summed variance: a policy learns what varies. Where pnl has a "
              "small share, it is trained for something other than profit.",
              "sub");
  return html + RewardTable(evaluation);
}

}  // namespace vixen::tool
