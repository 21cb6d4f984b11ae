// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/metrics.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace vixen::tool {
namespace {

Metric Value(double value) {
  if (!std::isfinite(value)) return {std::nullopt, "out of range of a double"};
  return {value, ""};
}

Metric None(std::string reason) { return {std::nullopt, std::move(reason)}; }

void RiskMetrics(std::span<const double> returns, double steps_a_year, double risk_free,
                 Metrics& metrics) {
  const auto n = static_cast<double>(returns.size());
  double sum = 0;
  for (const double r : returns) sum += r;
  const double mean = sum / n;
  double squares = 0;
  for (const double r : returns) squares += (r - mean) * (r - mean);
  const double deviation = std::sqrt(squares / (n - 1));
  const double root_year = std::sqrt(steps_a_year);
  metrics[MetricId::kVolatility] = Value(deviation * root_year);

  const double free = risk_free / steps_a_year;
  double downside = 0;
  for (const double r : returns) downside += std::min(r - free, 0.0) * std::min(r - free, 0.0);
  downside = std::sqrt(downside / n);
  // A constant return leaves rounding of the mean, not variance.
  const bool constant = std::ranges::all_of(returns, [&](double r) { return r == returns[0]; });
  metrics[MetricId::kSharpe] = constant || deviation == 0
                                   ? None("no variance of returns")
                                   : Value((mean - free) / deviation * root_year);
  metrics[MetricId::kSortino] =
      downside == 0 ? None("no losing step") : Value((mean - free) / downside * root_year);
}

void ReturnMetrics(double initial, std::span<const StepAccount> steps, double steps_a_year,
                   double risk_free, Metrics& metrics) {
  const auto n = static_cast<double>(steps.size());
  const double growth = steps.back().equity / initial;
  metrics[MetricId::kTotalReturn] = Value(growth - 1);

  std::vector<double> returns;
  returns.reserve(steps.size());
  double before = initial;
  for (const StepAccount& step : steps) {
    metrics.ruined = metrics.ruined || step.equity <= 0;
    if (before <= 0) break;
    returns.push_back(step.equity / before - 1);
    before = step.equity;
  }
  if (metrics.ruined) {
    metrics[MetricId::kAnnualReturn] = None("equity reached 0");
  } else {
    metrics[MetricId::kAnnualReturn] = Value(std::pow(growth, steps_a_year / n) - 1);
  }
  std::string why;
  if (returns.size() < steps.size()) why = "equity reached 0 before the last step";
  if (why.empty() && returns.size() < 2) why = "fewer than 2 steps";
  if (why.empty()) {
    RiskMetrics(returns, steps_a_year, risk_free, metrics);
  } else {
    for (const MetricId id : {MetricId::kVolatility, MetricId::kSharpe, MetricId::kSortino}) {
      metrics[id] = None(why);
    }
  }
}

void DrawdownMetrics(double initial, std::span<const StepAccount> steps, Metrics& metrics) {
  double peak = initial;
  double deepest = 0;
  size_t peak_at = 0;
  size_t longest = 0;
  for (size_t i = 1; i <= steps.size(); ++i) {
    const double equity = steps[i - 1].equity;
    const bool reached = equity >= peak;
    if (i - peak_at > 1 || !reached) {
      const size_t run = i - peak_at;
      if (run >= longest) {
        longest = run;
        metrics.recovered = reached;
      }
    }
    if (reached) {
      peak = equity;
      peak_at = i;
    }
    deepest = std::max(deepest, 1 - equity / peak);
  }
  metrics[MetricId::kMaxDrawdown] = Value(deepest);
  metrics[MetricId::kDrawdownDuration] = Value(static_cast<double>(longest));

  const Metric& annual = metrics[MetricId::kAnnualReturn];
  if (!annual.value) {
    metrics[MetricId::kCalmar] = None(annual.reason);
  } else if (deepest == 0) {
    metrics[MetricId::kCalmar] = None("no drawdown");
  } else {
    metrics[MetricId::kCalmar] = Value(*annual.value / deepest);
  }
}

void ActivityMetrics(double initial, std::span<const StepAccount> steps, double steps_a_year,
                     Metrics& metrics) {
  const auto n = static_cast<double>(steps.size());
  double longs = 0, shorts = 0, exposure = 0, traded = 0, costs = 0, equity_sum = 0;
  bool solvent = true;
  for (const StepAccount& step : steps) {
    longs += step.position > 0;
    shorts += step.position < 0;
    exposure += std::abs(step.exposure());
    solvent = solvent && step.equity_before > 0;
    traded += step.traded_notional();
    costs += step.costs();
    equity_sum += step.equity_before;
  }
  metrics[MetricId::kExposureTime] = Value((longs + shorts) / n);
  metrics[MetricId::kLongTime] = Value(longs / n);
  metrics[MetricId::kShortTime] = Value(shorts / n);
  metrics[MetricId::kMeanExposure] =
      solvent ? Value(exposure / n) : None("equity reached 0 before the last step");
  metrics[MetricId::kTradedNotional] = Value(traded);
  const double mean_equity = equity_sum / n;
  if (mean_equity > 0) {
    metrics[MetricId::kTurnover] = Value(traded / mean_equity);
    metrics[MetricId::kTurnoverYear] = Value(traded / mean_equity * steps_a_year / n);
  } else {
    metrics[MetricId::kTurnover] = None("mean equity is not above 0");
    metrics[MetricId::kTurnoverYear] = None("mean equity is not above 0");
  }
  metrics[MetricId::kCosts] = Value(costs);
  metrics[MetricId::kCostsOfCapital] = Value(costs / initial);
  const double gross = steps.back().equity - initial + costs;
  metrics[MetricId::kCostsOfGrossProfit] =
      gross > 0 ? Value(costs / gross) : None("no profit before costs");
}

void TradeMetrics(std::span<const Trade> trades, Metrics& metrics) {
  double closed = 0, open = 0, wins = 0, losing = 0, profits = 0, losses = 0, bars = 0;
  double open_profit = 0;
  for (const Trade& trade : trades) {
    if (trade.open) {
      ++open;
      open_profit += trade.profit;
      continue;
    }
    ++closed;
    bars += static_cast<double>(trade.bars);
    wins += trade.profit > 0;
    losing += trade.profit < 0;
    (trade.profit > 0 ? profits : losses) += trade.profit;
  }
  metrics[MetricId::kClosedTrades] = Value(closed);
  metrics[MetricId::kOpenTrades] = Value(open);
  metrics[MetricId::kClosedProfit] = Value(profits + losses);
  metrics[MetricId::kOpenProfit] = open > 0 ? Value(open_profit) : None("no open trade");
  if (closed == 0) {
    for (const MetricId id : {MetricId::kWinRate, MetricId::kProfitFactor, MetricId::kExpectancy,
                              MetricId::kMeanBarsHeld}) {
      metrics[id] = None("no closed trade");
    }
    return;
  }
  metrics[MetricId::kWinRate] = Value(wins / closed);
  metrics[MetricId::kProfitFactor] =
      losing == 0 ? None("no losing trade") : Value(profits / std::abs(losses));
  metrics[MetricId::kExpectancy] = Value((profits + losses) / closed);
  metrics[MetricId::kMeanBarsHeld] = Value(bars / closed);
}

}  // namespace

const std::array<MetricSpec, kMetricCount>& MetricSpecs() {
  using Id = MetricId;
  using Unit = MetricUnit;
  static constexpr std::array<MetricSpec, kMetricCount> kSpecs = {{
      {Id::kTotalReturn, "total_return", "Total return", Unit::kShare},
      {Id::kAnnualReturn, "annual_return", "Annual return", Unit::kShare},
      {Id::kVolatility, "volatility", "Volatility, a year", Unit::kShare},
      {Id::kSharpe, "sharpe", "Sharpe ratio", Unit::kRatio},
      {Id::kSortino, "sortino", "Sortino ratio", Unit::kRatio},
      {Id::kMaxDrawdown, "max_drawdown", "Maximum drawdown", Unit::kShare},
      {Id::kDrawdownDuration, "drawdown_duration", "Longest drawdown", Unit::kSteps},
      {Id::kCalmar, "calmar", "Calmar ratio", Unit::kRatio},
      {Id::kExposureTime, "exposure_time", "Time in the market", Unit::kShare},
      {Id::kLongTime, "long_time", "Time long", Unit::kShare},
      {Id::kShortTime, "short_time", "Time short", Unit::kShare},
      {Id::kMeanExposure, "mean_exposure", "Mean exposure", Unit::kShare},
      {Id::kTradedNotional, "traded_notional", "Traded notional", Unit::kMoney},
      {Id::kTurnover, "turnover", "Turnover", Unit::kTimes},
      {Id::kTurnoverYear, "turnover_year", "Turnover, a year", Unit::kTimes},
      {Id::kCosts, "costs", "Costs", Unit::kMoney},
      {Id::kCostsOfCapital, "costs_of_capital", "Costs / initial capital", Unit::kShare},
      {Id::kCostsOfGrossProfit, "costs_of_gross_profit", "Costs / profit before costs",
       Unit::kShare},
      {Id::kClosedTrades, "closed_trades", "Closed trades", Unit::kCount},
      {Id::kOpenTrades, "open_trades", "Open trades", Unit::kCount},
      {Id::kWinRate, "win_rate", "Win rate", Unit::kShare},
      {Id::kProfitFactor, "profit_factor", "Profit factor", Unit::kRatio},
      {Id::kExpectancy, "expectancy", "Expectancy a trade", Unit::kMoney},
      {Id::kMeanBarsHeld, "mean_bars_held", "Mean bars held", Unit::kSteps},
      {Id::kClosedProfit, "closed_profit", "Profit of closed trades", Unit::kMoney},
      {Id::kOpenProfit, "open_profit", "Profit of open trades", Unit::kMoney},
  }};
  return kSpecs;
}

Metrics ComputeMetrics(double initial, std::span<const StepAccount> steps,
                       std::span<const Trade> trades, double steps_a_year, double risk_free) {
  Metrics metrics;
  if (steps.empty()) {
    for (Metric& metric : metrics.values) metric = None("no step");
    return metrics;
  }
  ReturnMetrics(initial, steps, steps_a_year, risk_free, metrics);
  DrawdownMetrics(initial, steps, metrics);
  ActivityMetrics(initial, steps, steps_a_year, metrics);
  TradeMetrics(trades, metrics);
  return metrics;
}

std::vector<double> Drawdowns(double initial, std::span<const StepAccount> steps) {
  std::vector<double> drawdowns;
  drawdowns.reserve(steps.size());
  double peak = initial;
  for (const StepAccount& step : steps) {
    peak = std::max(peak, step.equity);
    drawdowns.push_back(1 - step.equity / peak);
  }
  return drawdowns;
}

std::optional<double> Correlation(std::span<const double> a, std::span<const double> b) {
  const size_t n = std::min(a.size(), b.size());
  if (n < 2) return std::nullopt;
  double mean_a = 0, mean_b = 0;
  for (size_t i = 0; i < n; ++i) {
    mean_a += a[i];
    mean_b += b[i];
  }
  mean_a /= static_cast<double>(n);
  mean_b /= static_cast<double>(n);
  double aa = 0, bb = 0, ab = 0;
  for (size_t i = 0; i < n; ++i) {
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
    ab += (a[i] - mean_a) * (b[i] - mean_b);
  }
  if (aa == 0 || bb == 0) return std::nullopt;
  const double result = ab / std::sqrt(aa * bb);
  if (!std::isfinite(result)) return std::nullopt;
  return std::clamp(result, -1.0, 1.0);
}

}  // namespace vixen::tool
