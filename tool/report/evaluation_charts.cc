// SPDX-License-Identifier: Apache-2.0
#include "tool/report/evaluation_charts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tool/format.h"

namespace vixen::tool {
namespace {

constexpr size_t kBins = 41;
constexpr size_t kMostLiftedParts = 100;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Time where it only goes forward; overlapping instruments follow each other by step number.
std::vector<double> XOf(const Evaluation& evaluation) {
  const auto& time = evaluation.series.time;
  std::vector<double> x(time.size());
  const bool forward = std::is_sorted(time.begin(), time.end());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = forward ? static_cast<double>(time[i]) : static_cast<double>(i + 1);
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

double EquityBefore(const Evaluation& evaluation, size_t step) {
  return step == 0 ? evaluation.initial_capital : evaluation.series.equity[step - 1];
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

struct Bins {
  std::vector<double> middle;
  std::vector<double> low;   // how many values below 0 …
  std::vector<double> high;  // … and not below 0 each bin holds
};

Bins BinsOf(std::vector<double> values) {
  Bins bins;
  if (values.empty()) return bins;
  std::sort(values.begin(), values.end());
  const auto quantile = [&](double share) {
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
  };
  double low = quantile(0.005);
  double high = quantile(0.995);
  if (high <= low) {
    const double pad = low == 0 ? 1e-3 : std::abs(low) * 0.1;
    low -= pad;
    high += pad;
  }
  const double width = (high - low) / kBins;
  bins.low.assign(kBins, 0);
  bins.high.assign(kBins, 0);
  for (size_t i = 0; i < kBins; ++i) {
    bins.middle.push_back(low + (static_cast<double>(i) + 0.5) * width);
  }
  for (const double value : values) {
    const double place = std::clamp((value - low) / width, 0.0, kBins - 1.0);
    (value < 0 ? bins.low : bins.high)[static_cast<size_t>(place)] += 1;
  }
  return bins;
}

Chart Histogram(std::vector<double> values, std::string title) {
  Chart chart;
  chart.title = std::move(title);
  chart.y_format = AxisFormat::kCount;
  chart.zero_line = true;
  chart.height = 240;
  const Bins bins = BinsOf(std::move(values));
  if (bins.middle.empty()) return chart;
  // The bin around 0 holds both signs: gains stand behind losses of their own height.
  std::vector<double> both(kBins);
  for (size_t i = 0; i < kBins; ++i) both[i] = bins.low[i] + bins.high[i];
  chart.series.push_back({"gains", "long", Mark::kBars, bins.middle, both});
  for (size_t i = 0; i < kBins; ++i) {
    if (bins.high[i] == 0) chart.series[0].y[i] = 0;
  }
  chart.series.push_back({"losses", "short", Mark::kBars, bins.middle, bins.low});
  return chart;
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
      random.x.push_back(x[band.step[i]]);
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
    for (uint64_t step = part.first_step; step < part.first_step + part.steps; ++step) {
      price.x.push_back(x[step]);
      price.y.push_back(evaluation.series.close[step]);
    }
    if (evaluation.parts.size() > kMostLiftedParts || &part == &evaluation.parts.back()) continue;
    price.x.push_back(price.x.back());
    price.y.push_back(kNaN);
  }
  chart.series.push_back(std::move(price));
  if (evaluation.trades.size() > kMostMarkedTrades) return chart;
  const auto marked_at = [&](uint64_t step) { return step == 0 ? x[0] : x[step - 1]; };
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

std::optional<size_t> RollingWindow(const Evaluation& evaluation) {
  const size_t n = evaluation.steps();
  if (n < 120) return std::nullopt;
  const auto quarter_year =
      static_cast<size_t>(std::max(evaluation.annualisation.steps_a_year / 4, 30.0));
  return std::max<size_t>(std::min(quarter_year, n / 5), 30);
}

Chart RollingSharpeChart(const Evaluation& evaluation, size_t window) {
  Chart chart = OverTime(evaluation, "Rolling Sharpe ratio");
  chart.zero_line = true;
  chart.height = 240;
  const double root_year = std::sqrt(evaluation.annualisation.steps_a_year);
  const auto rolling = [&](const std::vector<double>& equity) {
    std::vector<double> sharpe(equity.size(), kNaN);
    std::vector<double> returns(equity.size());
    for (size_t i = 0; i < equity.size(); ++i) {
      const double before = i == 0 ? evaluation.initial_capital : equity[i - 1];
      if (before <= 0) return sharpe;
      returns[i] = equity[i] / before - 1;
    }
    const auto count = static_cast<double>(window);
    double sum = 0, squares = 0;
    uint64_t moving = 0;  // returns other than 0 inside the window
    for (size_t i = 0; i < returns.size(); ++i) {
      sum += returns[i];
      squares += returns[i] * returns[i];
      moving += returns[i] != 0;
      if (i >= window) {
        sum -= returns[i - window];
        squares -= returns[i - window] * returns[i - window];
        moving -= returns[i - window] != 0;
      }
      if (i + 1 < window || moving < 2) continue;
      const double variance = (squares - sum * sum / count) / (count - 1);
      if (variance > 1e-30) sharpe[i] = sum / count / std::sqrt(variance) * root_year;
    }
    return sharpe;
  };
  const std::vector<double> x = XOf(evaluation);
  chart.series.push_back(
      {"buy-and-hold", "hold", Mark::kLine, x, rolling(evaluation.series.buy_and_hold)});
  chart.series.push_back({"policy", "policy", Mark::kLine, x, rolling(evaluation.series.equity)});
  return chart;
}

Chart ReturnDistributionChart(const Evaluation& evaluation) {
  std::vector<double> returns;
  for (size_t i = 0; i < evaluation.steps(); ++i) {
    const double before = EquityBefore(evaluation, i);
    if (before <= 0 || evaluation.series.position[i] == 0) continue;
    returns.push_back(evaluation.series.equity[i] / before - 1);
  }
  Chart chart = Histogram(std::move(returns), "Distribution of step returns");
  chart.x_format = AxisFormat::kPercent;
  return chart;
}

Chart TradeDistributionChart(const Evaluation& evaluation) {
  std::vector<double> profits;
  for (const Trade& trade : evaluation.trades) {
    if (!trade.open) profits.push_back(trade.profit);
  }
  Chart chart = Histogram(std::move(profits), "Distribution of trade profits");
  chart.x_format = AxisFormat::kMoney;
  return chart;
}

}  // namespace vixen::tool
