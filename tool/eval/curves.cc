// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/curves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "base/tensor_file.h"

namespace vixen::tool {
namespace {

constexpr size_t kBins = 41;
constexpr size_t kStretches = 2'000;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Returns of all steps; empty when the equity reached 0.
std::vector<double> ReturnsOf(double initial, const std::vector<double>& equity) {
  std::vector<double> returns(equity.size());
  for (size_t i = 0; i < equity.size(); ++i) {
    const double before = i == 0 ? initial : equity[i - 1];
    if (before <= 0) return {};
    returns[i] = equity[i] / before - 1;
  }
  return returns;
}

// NaN where the window is not full, or holds fewer than two returns other than 0.
std::vector<double> RollingRatio(double initial, const std::vector<double>& equity, size_t window,
                                 double steps_a_year) {
  std::vector<double> sharpe(equity.size(), kNaN);
  const std::vector<double> returns = ReturnsOf(initial, equity);
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
    if (variance > 1e-30) sharpe[i] = sum / count / std::sqrt(variance) * std::sqrt(steps_a_year);
  }
  return sharpe;
}

// A quarter of a year, but at most a fifth of the steps; none below 120 steps.
std::optional<size_t> RollingWindow(const Evaluation& evaluation) {
  const size_t n = evaluation.series.time.size();
  if (n < 120) return std::nullopt;
  const auto quarter_year =
      static_cast<size_t>(std::max(evaluation.annualisation.steps_a_year / 4, 30.0));
  return std::max<size_t>(std::min(quarter_year, n / 5), 30);
}

std::vector<double> DrawdownOf(double initial, const std::vector<double>& equity) {
  std::vector<double> drawdown;
  double peak = initial;
  for (const double value : equity) {
    peak = std::max(peak, value);
    drawdown.push_back(value / peak - 1);
  }
  return drawdown;
}

// Step of the running peak at each step, the last one where the peak was met again; none before the
// equity first reached its initial value.
std::vector<std::optional<uint64_t>> PeaksOf(const std::vector<double>& drawdown) {
  std::vector<std::optional<uint64_t>> peaks;
  peaks.reserve(drawdown.size());
  std::optional<uint64_t> last;
  for (size_t i = 0; i < drawdown.size(); ++i) {
    if (drawdown[i] == 0) last = i;
    peaks.push_back(last);
  }
  return peaks;
}

// Adds the indices of the least and the largest finite value in [begin, end); returns the former.
std::optional<size_t> KeepExtremes(const std::vector<double>& values, size_t begin, size_t end,
                                   std::vector<uint64_t>& kept) {
  std::optional<size_t> least, most;
  for (size_t i = begin; i < end && i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    if (!least || values[i] < values[*least]) least = i;
    if (!most || values[i] > values[*most]) most = i;
  }
  if (!least) return std::nullopt;
  kept.push_back(*least);
  kept.push_back(*most);
  return least;
}

template <typename T>
void Pick(const std::vector<uint64_t>& kept, std::vector<T>& values) {
  if (values.empty()) return;
  std::vector<T> picked;
  picked.reserve(kept.size());
  for (const uint64_t i : kept) picked.push_back(values[i]);
  values = std::move(picked);
}

std::vector<uint64_t> KeptSteps(const Evaluation& evaluation) {
  const EvaluationSeries& series = evaluation.series;
  const size_t n = series.time.size();
  const double initial = evaluation.initial_capital;
  const std::vector<double> drawdown = DrawdownOf(initial, series.equity),
                            hold_drawdown = DrawdownOf(initial, series.buy_and_hold);
  const auto peaks = PeaksOf(drawdown), hold_peaks = PeaksOf(hold_drawdown);
  std::vector<uint64_t> kept = {0, n - 1};
  for (size_t stretch = 0; stretch < kStretches; ++stretch) {
    const size_t begin = stretch * n / kStretches, end = (stretch + 1) * n / kStretches;
    for (const auto* values :
         {&series.close, &series.equity, &series.buy_and_hold, &series.moving_average,
          &evaluation.rolling.policy, &evaluation.rolling.buy_and_hold}) {
      KeepExtremes(*values, begin, end, kept);
    }
    // With the peak that it is measured from: charts compute the drawdown from the kept equity.
    const auto keep_drawdown = [&](const auto& values, const auto& peak_of) {
      const std::optional<size_t> least = KeepExtremes(values, begin, end, kept);
      if (least && peak_of[*least]) kept.push_back(*peak_of[*least]);
    };
    keep_drawdown(drawdown, peaks);
    keep_drawdown(hold_drawdown, hold_peaks);
  }
  for (const uint64_t step : evaluation.random_timing.band.step) kept.push_back(step);
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  return kept;
}

// Every step gets the mean of its stretch.
void AverageStretches(std::vector<double>& values) {
  const size_t n = values.size();
  for (size_t stretch = 0; stretch < kStretches; ++stretch) {
    const size_t begin = stretch * n / kStretches, end = (stretch + 1) * n / kStretches;
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += values[i];
    std::fill(values.begin() + static_cast<ptrdiff_t>(begin),
              values.begin() + static_cast<ptrdiff_t>(end), sum / static_cast<double>(end - begin));
  }
}

}  // namespace

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
  bins.below_zero.assign(kBins, 0);
  bins.others.assign(kBins, 0);
  for (size_t i = 0; i < kBins; ++i) {
    bins.middle.push_back(low + (static_cast<double>(i) + 0.5) * width);
  }
  for (const double value : values) {
    const double place = std::clamp((value - low) / width, 0.0, kBins - 1.0);
    (value < 0 ? bins.below_zero : bins.others)[static_cast<size_t>(place)] += 1;
  }
  return bins;
}

void DescribeCurves(Evaluation& evaluation) {
  const EvaluationSeries& series = evaluation.series;
  const double initial = evaluation.initial_capital;
  evaluation.rolling = {};
  if (const std::optional<size_t> window = RollingWindow(evaluation)) {
    const double steps_a_year = evaluation.annualisation.steps_a_year;
    evaluation.rolling = {*window, RollingRatio(initial, series.equity, *window, steps_a_year),
                          RollingRatio(initial, series.buy_and_hold, *window, steps_a_year)};
  }
  std::vector<double> returns, profits;
  for (size_t i = 0; i < series.equity.size(); ++i) {
    const double before = i == 0 ? initial : series.equity[i - 1];
    if (before > 0 && series.position[i] != 0) returns.push_back(series.equity[i] / before - 1);
  }
  for (const Trade& trade : evaluation.trades) {
    if (!trade.open) profits.push_back(trade.profit);
  }
  evaluation.return_bins = BinsOf(std::move(returns));
  evaluation.trade_bins = BinsOf(std::move(profits));
}

void Compact(Evaluation& evaluation) {
  EvaluationSeries& series = evaluation.series;
  if (series.time.size() > kMostKeptSteps && series.step.empty()) {
    const std::vector<uint64_t> kept = KeptSteps(evaluation);
    AverageStretches(series.exposure);
    Pick(kept, series.time);
    for (auto* values :
         {&series.close, &series.position, &series.exposure, &series.equity, &series.buy_and_hold,
          &series.moving_average, &evaluation.rolling.policy, &evaluation.rolling.buy_and_hold}) {
      Pick(kept, *values);
    }
    series.step = kept;
  }
  std::vector<Trade>& trades = evaluation.trades;
  if (trades.size() > kMostKeptTrades) {
    const size_t left_out = trades.size() - kMostKeptTrades;
    trades.erase(trades.begin(), trades.begin() + static_cast<ptrdiff_t>(left_out));
    evaluation.trades_left_out += left_out;
  }
}

absl::Status WriteSeries(const Evaluation& evaluation, const std::string& path) {
  const EvaluationSeries& series = evaluation.series;
  const std::vector<int64_t> shape = {static_cast<int64_t>(series.time.size())};
  base::TensorFileWriter writer;
  writer.Metadata("format", "vixen evaluation series")
      .Metadata("dataset_fingerprint", evaluation.identity.dataset_fingerprint)
      .Tensor<int64_t>("time", shape, series.time);
  const std::pair<const char*, const std::vector<double>*> columns[] = {
      {"close", &series.close},
      {"position", &series.position},
      {"exposure", &series.exposure},
      {"equity", &series.equity},
      {"buy_and_hold", &series.buy_and_hold},
      {"moving_average", &series.moving_average}};
  for (const auto& [name, values] : columns) writer.Tensor<double>(name, shape, *values);
  return writer.Write(path);
}

}  // namespace vixen::tool
