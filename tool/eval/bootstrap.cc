// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/bootstrap.h"

#include <algorithm>
#include <cmath>

#include "kernels/env/rng.h"
#include "tool/eval/block_length.h"
#include "tool/eval/quantile.h"

namespace vixen::tool {
namespace {

constexpr size_t kLeastSteps = 20;
constexpr size_t kMostUnits = 200'000;

// What neighbouring steps add to a curve; log equity is relative to the unit's start.
struct Unit {
  double sum = 0;       // of returns
  double squares = 0;   // … squared
  double downside = 0;  // Σ min(r − rf/P, 0)²
  double growth = 0;    // log of it
  double lowest = 0;    // log equity after any of its steps
  double highest = 0;   // … or before the first
  double drawdown = 0;  // inside, in log
};

// Units of a curve put one after another.
class Curve {
 public:
  void Add(const Unit& unit) {
    sum_ += unit.sum;
    squares_ += unit.squares;
    downside_ += unit.downside;
    drawdown_ = std::max({drawdown_, unit.drawdown, peak_ - (level_ + unit.lowest)});
    peak_ = std::max(peak_, level_ + unit.highest);
    level_ += unit.growth;
  }

  // In the order of kIntervalMetrics.
  std::array<double, kIntervalMetrics.size()> Metrics(double n, double steps_a_year,
                                                      double risk_free) const {
    const double mean = sum_ / n - risk_free / steps_a_year;
    const double variance = std::max(squares_ - sum_ * sum_ / n, 0.0) / (n - 1);
    const double root_year = std::sqrt(steps_a_year);
    // Running sums leave rounding where nothing varies.
    const bool varies = variance > 1e-12 * squares_ / n && variance > 0;
    const double none = std::nan("");
    return {std::expm1(level_),
            std::expm1(level_ * steps_a_year / n),
            std::sqrt(variance) * root_year,
            varies ? mean / std::sqrt(variance) * root_year : none,
            downside_ > 0 ? mean / std::sqrt(downside_ / n) * root_year : none,
            -std::expm1(-drawdown_)};
  }
  double level() const { return level_; }

 private:
  double sum_ = 0, squares_ = 0, downside_ = 0;
  double level_ = 0, peak_ = 0, drawdown_ = 0;
};

bool Solvent(std::span<const StepAccount> steps) {
  return std::all_of(steps.begin(), steps.end(), [](const StepAccount& step) {
    return step.equity_before > 0 && step.equity > 0;
  });
}

std::vector<Unit> UnitsOf(std::span<const StepAccount> steps, size_t unit_steps, double free) {
  std::vector<Unit> units;
  units.reserve(steps.size() / unit_steps + 1);
  for (size_t from = 0; from < steps.size(); from += unit_steps) {
    Unit unit;
    bool first = true;
    for (const StepAccount& step : steps.subspan(from, std::min(unit_steps, steps.size() - from))) {
      const double r = step.equity / step.equity_before - 1;
      unit.sum += r;
      unit.squares += r * r;
      unit.downside += std::min(r - free, 0.0) * std::min(r - free, 0.0);
      unit.growth += std::log(step.equity / step.equity_before);
      unit.drawdown = std::max(unit.drawdown, unit.highest - unit.growth);
      unit.highest = std::max(unit.highest, unit.growth);
      unit.lowest = first ? unit.growth : std::min(unit.lowest, unit.growth);
      first = false;
    }
    units.push_back(unit);
  }
  return units;
}

// Numbers of one resample; the same for every processor.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t resample) : seed_(seed), resample_(resample) {}
  // REQUIRES: limit < 2³².
  uint64_t Below(uint64_t limit) { return ((Word() >> 32) * limit) >> 32; }
  double Uniform() { return static_cast<double>(Word() >> 11) * 0x1p-53; }

 private:
  uint64_t Word() { return kernels::SeedWord(seed_, resample_, next_++); }
  uint64_t seed_;
  uint64_t resample_;
  uint64_t next_ = 0;
};

// Percentile interval of what is finite; none when a hundredth or more is not.
std::optional<Interval> IntervalOf(std::vector<double> values, double level) {
  const size_t all = values.size();
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty() || (all - values.size()) * 100 >= all) return std::nullopt;
  std::sort(values.begin(), values.end());
  return Interval{QuantileOf(values, (1 - level) / 2), QuantileOf(values, (1 + level) / 2)};
}

using MetricColumns = std::array<std::vector<double>, kIntervalMetrics.size()>;

Intervals IntervalsOf(MetricColumns columns, double level) {
  Intervals intervals;
  for (size_t i = 0; i < columns.size(); ++i) {
    intervals[i] = IntervalOf(std::move(columns[i]), level);
  }
  return intervals;
}

std::string WhyNot(std::span<const std::span<const StepAccount>> runs,
                   std::span<const StepAccount> hold, const BootstrapOptions& options) {
  if (options.resamples == 0) return "not asked for";
  if (hold.size() < kLeastSteps) return "fewer than 20 steps";
  if (!Solvent(hold)) return "the equity of buy-and-hold reached 0";
  for (const auto& run : runs) {
    if (run.size() != hold.size()) return "a run ended by ruin";
    if (!Solvent(run)) return "the equity reached 0";
  }
  return "";
}

}  // namespace

Bootstrap BootstrapIntervals(std::span<const std::span<const StepAccount>> runs,
                             std::span<const StepAccount> hold, double steps_a_year,
                             double risk_free, const BootstrapOptions& options) {
  Bootstrap result{.seed = options.seed, .level = options.level};
  result.reason = WhyNot(runs, hold, options);
  if (!result.reason.empty()) return result;

  const size_t n = hold.size();
  result.unit = (n + kMostUnits - 1) / kMostUnits;
  const double free = risk_free / steps_a_year;
  std::vector<std::vector<Unit>> units;
  for (const auto& run : runs) units.push_back(UnitsOf(run, result.unit, free));
  const std::vector<Unit> hold_units = UnitsOf(hold, result.unit, free);
  const size_t count = hold_units.size();

  const auto unit_steps = static_cast<double>(result.unit);
  result.block_length_given = options.block_length > 0;
  double block = options.block_length / unit_steps;
  if (!result.block_length_given) {
    std::vector<double> returns;
    for (const Unit& unit : units[0]) returns.push_back(unit.sum);
    block = StationaryBlockLength(returns);
  }
  block = std::clamp(block, 1.0, static_cast<double>(count));
  result.block_length = block * unit_steps;
  result.resamples = options.resamples;

  MetricColumns own, held, difference;
  uint64_t losses = 0, not_better = 0;
  // P(length > 1): geometric lengths of mean `block`.
  const double log_go_on = block > 1 ? std::log1p(-1 / block) : 0;
  for (uint64_t k = 0; k < options.resamples; ++k) {
    Draws draws(options.seed, k);
    const std::vector<Unit>& chosen = units[draws.Below(units.size())];
    Curve curve, hold_curve;
    for (size_t filled = 0; filled < count;) {
      size_t at = draws.Below(count);
      double length = 1;
      if (block > 1) length += std::floor(std::log1p(-draws.Uniform()) / log_go_on);
      const auto left = static_cast<double>(count - filled);
      const auto take = static_cast<size_t>(std::min(length, left));
      for (size_t i = 0; i < take; ++i) {
        curve.Add(chosen[at]);
        hold_curve.Add(hold_units[at]);
        if (++at == count) at = 0;
      }
      filled += take;
    }
    const auto a = curve.Metrics(static_cast<double>(n), steps_a_year, risk_free);
    const auto b = hold_curve.Metrics(static_cast<double>(n), steps_a_year, risk_free);
    for (size_t i = 0; i < a.size(); ++i) {
      own[i].push_back(a[i]);
      held[i].push_back(b[i]);
      difference[i].push_back(a[i] - b[i]);
    }
    losses += curve.level() <= 0;
    not_better += curve.level() <= hold_curve.level();
  }
  result.policy = IntervalsOf(std::move(own), options.level);
  result.buy_and_hold = IntervalsOf(std::move(held), options.level);
  result.difference = IntervalsOf(std::move(difference), options.level);
  const auto all = static_cast<double>(options.resamples);
  result.share_of_losses = static_cast<double>(losses) / all;
  result.share_not_better = static_cast<double>(not_better) / all;
  return result;
}

}  // namespace vixen::tool
