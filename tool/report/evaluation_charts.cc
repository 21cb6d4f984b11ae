// SPDX-License-Identifier: Apache-2.0
#include "tool/report/evaluation_charts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tool/format.h"

namespace vixen::tool {
namespace {

constexpr size_t kMostLiftedParts = 100;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Time where it only goes forward; overlapping instruments follow each other by step number.
std::vector<double> XOf(const Evaluation& evaluation) {
  const auto& time = evaluation.series.time;
  std::vector<double> x(time.size());
  const bool forward = std::is_sorted(time.begin(), time.end());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = forward ? static_cast<double>(time[i]) : static_cast<double>(evaluation.step_of(i) + 1);
  }
  return x;
}

Chart OverTime(const Evaluation& evaluation, std::string title) {
  Chart chart;
  chart.title = std::move(title);
  const auto& time = evaluation.series.time;
  if (!std::is_sorted(time.begin(), time.end())) {
    chart.x_format = AxisFormat::kCount;
    chart.x_label = "step";
  }
  return chart;
}

std::vector<double> DrawdownOf(double initial, const std::vector<double>& equity) {
  std::vector<double> drawdown;
  drawdown.reserve(equity.size());
  double peak = initial;
  for (const double value : equity) {
    peak = std::max(peak, value);
    drawdown.push_back(value / peak - 1);
  }
  return drawdown;
}

Chart Histogram(const Bins& bins, std::string title) {
  Chart chart;
  chart.title = std::move(title);
  chart.y_format = AxisFormat::kCount;
  chart.zero_line = true;
  chart.height = 240;
  if (bins.middle.empty()) return chart;
  // The bin around 0 holds both signs: gains stand behind losses of their own height.
  std::vector<double> both(bins.middle.size());
  for (size_t i = 0; i < both.size(); ++i) {
    both[i] = bins.others[i] == 0 ? 0 : bins.below_zero[i] + bins.others[i];
  }
  chart.series.push_back({"gains", "long", Mark::kBars, bins.middle, std::move(both)});
  chart.series.push_back({"losses", "short", Mark::kBars, bins.middle, bins.below_zero});
  return chart;
}

// Index of the first entry at `step` or later.
size_t EntryOf(const Evaluation& evaluation, uint64_t step) {
  const auto& kept = evaluation.series.step;
  const size_t last = evaluation.series.time.size() - 1;
  if (kept.empty()) return std::min<size_t>(step, last);
  return std::min<size_t>(std::lower_bound(kept.begin(), kept.end(), step) - kept.begin(), last);
}

}  // namespace

Chart EquityChart(const Evaluation& evaluation, bool logarithmic) {
  Chart chart = OverTime(evaluation, "Equity of the policy and of the benchmarks");
  chart.y_format = AxisFormat::kMoney;
  chart.y_log = logarithmic;
  chart.height = 340;
  const std::vector<double> x = XOf(evaluation);
  if (const auto& band = evaluation.random_timing.band; !band.step.empty()) {
    ChartSeries random{"random timing", "flat", Mark::kBand, {}, {}};
    for (size_t i = 0; i < band.step.size(); ++i) {
      random.x.push_back(x[EntryOf(evaluation, band.step[i])]);
      random.y.push_back(band.low[i] * evaluation.initial_capital);
      random.y2.push_back(band.high[i] * evaluation.initial_capital);
    }
    chart.series.push_back(std::move(random));
  }
  chart.series.push_back({"flat",
                          "flat",
                          Mark::kLine,
                          {x.front(), x.back()},
                          {evaluation.initial_capital, evaluation.initial_capital}});
  chart.series.push_back(
      {"moving average", "c5", Mark::kLine, x, evaluation.series.moving_average});
  chart.series.push_back({"buy-and-hold", "hold", Mark::kLine, x, evaluation.series.buy_and_hold});
  chart.series.push_back({"policy", "policy", Mark::kLine, x, evaluation.series.equity});
  return chart;
}

Chart DrawdownChart(const Evaluation& evaluation) {
  Chart chart = OverTime(evaluation, "Drawdown of the policy and buy-and-hold");
  chart.y_format = AxisFormat::kPercent;
  chart.zero_line = true;
  chart.height = 220;
  const std::vector<double> x = XOf(evaluation);
  const std::vector<double> drawdown =
      DrawdownOf(evaluation.initial_capital, evaluation.series.equity);
  chart.series.push_back({"buy-and-hold", "hold", Mark::kLine, x,
                          DrawdownOf(evaluation.initial_capital, evaluation.series.buy_and_hold)});
  chart.series.push_back({"", "policy", Mark::kArea, x, drawdown});
  chart.series.push_back({"policy", "policy", Mark::kLine, x, drawdown});
  return chart;
}

Chart PriceChart(const Evaluation& evaluation) {
  Chart chart = OverTime(evaluation, "Price with the policy's trades");
  chart.height = 300;
  const std::vector<double> x = XOf(evaluation);
  // The pen is lifted between parts: another instrument may begin at another price.
  ChartSeries price{"close", "price", Mark::kLine, {}, {}};
  for (const EvaluationPart& part : evaluation.parts) {
    size_t i = EntryOf(evaluation, part.first_step);
    for (; i < x.size() && evaluation.step_of(i) < part.first_step + part.steps; ++i) {
      price.x.push_back(x[i]);
      price.y.push_back(evaluation.series.close[i]);
    }
    if (evaluation.parts.size() > kMostLiftedParts || &part == &evaluation.parts.back()) continue;
    if (price.x.empty()) continue;
    price.x.push_back(price.x.back());
    price.y.push_back(kNaN);
  }
  chart.series.push_back(std::move(price));
  if (evaluation.trades.size() > kMostMarkedTrades) return chart;
  const auto marked_at = [&](uint64_t step) {
    return step == 0 ? x[0] : x[EntryOf(evaluation, step - 1)];
  };
  ChartSeries longs{"opens long", "long", Mark::kUp, {}, {}};
  ChartSeries shorts{"opens short", "short", Mark::kDown, {}, {}};
  ChartSeries exits{"closes", "price", Mark::kCross, {}, {}};
  for (const Trade& trade : evaluation.trades) {
    ChartSeries& entry = trade.units > 0 ? longs : shorts;
    entry.x.push_back(marked_at(trade.entry_step));
    entry.y.push_back(trade.entry_price);
    if (trade.open) continue;
    exits.x.push_back(marked_at(trade.exit_step));
    exits.y.push_back(trade.exit_price);
  }
  for (ChartSeries* series : {&longs, &shorts, &exits}) {
    if (!series->x.empty()) chart.series.push_back(std::move(*series));
  }
  return chart;
}

Chart ExposureChart(const Evaluation& evaluation) {
  Chart chart = OverTime(evaluation, "Exposure of the policy, share of equity");
  chart.y_format = AxisFormat::kPercent;
  chart.zero_line = true;
  chart.height = 170;
  chart.series.push_back(
      {"", "policy", Mark::kSignedArea, XOf(evaluation), evaluation.series.exposure});
  return chart;
}

Chart RollingSharpeChart(const Evaluation& evaluation) {
  Chart chart = OverTime(evaluation, "Rolling Sharpe ratio");
  chart.zero_line = true;
  chart.height = 240;
  const RollingSharpe& rolling = evaluation.rolling;
  if (rolling.window == 0) return chart;
  const std::vector<double> x = XOf(evaluation);
  chart.series.push_back({"buy-and-hold", "hold", Mark::kLine, x, rolling.buy_and_hold});
  chart.series.push_back({"policy", "policy", Mark::kLine, x, rolling.policy});
  return chart;
}

Chart ReturnDistributionChart(const Evaluation& evaluation) {
  Chart chart = Histogram(evaluation.return_bins, "Distribution of step returns");
  chart.x_format = AxisFormat::kPercent;
  return chart;
}

Chart TradeDistributionChart(const Evaluation& evaluation) {
  Chart chart = Histogram(evaluation.trade_bins, "Distribution of trade profits");
  chart.x_format = AxisFormat::kMoney;
  return chart;
}

}  // namespace vixen::tool
