// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/evaluator.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/collect/collector.h"
#include "kernels/env/rules.h"
#include "tool/eval/part_replay.h"
#include "tool/eval/warnings.h"

namespace vixen::tool {
namespace {

constexpr uint64_t kMostLaunchSteps = 65'536;
constexpr int kMarketNormal = 1;  // style of a plain market order

kernels::EnvSettings ForEvaluation(kernels::EnvSettings settings, bool has_curiosity) {
  settings.on_barrier = kernels::OnBarrier::kRelabel;
  settings.carry_over = true;
  settings.recycle = true;
  settings.max_episode_steps = 0;
  if (!has_curiosity) settings.curiosity_max = 0;
  return settings;
}

// Runs parts through an executor of one slot. Parts of the same length share one.
class PartRunner {
 public:
  PartRunner(const EvaluatorOptions& options, const kernels::EnvSettings& settings)
      : options_(options), settings_(settings) {}

  const kernels::CollectorInfo* info() const { return collector_ ? &collector_->info() : nullptr; }

  // Calls `take(batch, row)` for each row of the part until its end or ruin; true when ruined.
  template <typename Take>
  absl::StatusOr<bool> Run(market::BarRange part, std::span<const uint8_t> scripted, Take take) {
    const uint64_t steps = part.end - part.begin - 1;
    VIXEN_RETURN_IF_ERROR(Prepare(part, std::min(steps, kMostLaunchSteps)));
    const uint32_t rng = 0;
    const auto start = static_cast<uint32_t>(part.begin);
    std::vector<uint8_t> actions;
    for (uint64_t done = 0, launch = 0; done < steps; ++launch) {
      kernels::LaunchRequest request{.seed = 0, .launch = launch};
      if (launch == 0) {
        request.inputs.rng = std::span(&rng, 1);
        request.inputs.starts = std::span(&start, 1);
      }
      if (!scripted.empty()) {
        const auto chunk =
            scripted.subspan(done, std::min<uint64_t>(batch_->steps(), steps - done));
        actions.assign(chunk.begin(), chunk.end());
        actions.resize(batch_->steps(), settings_.actions[0]);
        request.inputs.actions = actions;
      }
      VIXEN_RETURN_IF_ERROR(collector_->Launch(request, *batch_));
      VIXEN_RETURN_IF_ERROR(collector_->Wait(*batch_));
      const kernels::BatchView rows = batch_->view();
      for (size_t row = 0; row < batch_->rows(); ++row, ++done) {
        VIXEN_RETURN_IF_ERROR(take(rows, row));
        if (rows.flags[row] & kernels::kFlagTerminated) return true;
        if (rows.flags[row] & kernels::kFlagTruncated) return false;
      }
    }
    return absl::InternalError(
        absl::StrCat("bars ", part.begin, " to ", part.end,
                     ": the executor did not end the episode at the last bar"));
  }

 private:
  // The range of the executor is the part, so that its last bar ends the episode.
  absl::Status Prepare(market::BarRange part, uint64_t launch_steps) {
    const market::Dataset& dataset = *options_.dataset;
    kernels::CollectorOptions collector{.settings = settings_,
                                        .architecture = options_.weights.online.architecture,
                                        .episodes = 1,
                                        .steps = static_cast<uint32_t>(launch_steps),
                                        .precision = kernels::Precision::kFp32,
                                        .threads = 1};
    collector.market = {.features = dataset.features().data(),
                        .targets = dataset.targets().data(),
                        .last = dataset.last().data(),
                        .bars = static_cast<uint32_t>(dataset.bars()),
                        .feature_count = dataset.feature_count(),
                        .begin = static_cast<uint32_t>(part.begin),
                        .end = static_cast<uint32_t>(part.end)};
    VIXEN_ASSIGN_OR_RETURN(collector_, kernels::MakeCpuCollector(collector));
    if (!batch_ || batch_->steps() != launch_steps) {
      batch_ = std::make_unique<kernels::Batch>(1, collector.steps, /*with_terms=*/true);
    }
    std::vector<const kernels::Parameters*> kinds = {&options_.weights.online,
                                                     &options_.weights.target};
    if (settings_.curiosity_max > 0) kinds.push_back(&options_.weights.curiosity);
    for (const kernels::Parameters* parameters : kinds) {
      VIXEN_RETURN_IF_ERROR(collector_->StageWeights(*parameters).status());
      collector_->CommitWeights(parameters->kind);
    }
    return collector_->CanLaunch();
  }

  const EvaluatorOptions& options_;
  const kernels::EnvSettings& settings_;
  std::unique_ptr<kernels::Collector> collector_;
  std::unique_ptr<kernels::Batch> batch_;
};

void CountRow(const kernels::BatchView& rows, size_t row, Evaluation& evaluation) {
  kernels::LaunchStatistics& statistics = evaluation.statistics;
  for (int term = 0; term < kernels::kRewardTerms; ++term) {
    const double value = rows.terms[kernels::kRewardTerms * row + term];
    statistics.term_sum[term] += value;
    statistics.term_sum_squares[term] += value * value;
  }
  ++statistics.valid_rows;
  ++statistics.exposure_class[rows.action[row] / kernels::kStyles];
  ++evaluation.action[rows.action[row]];
  ++statistics.barrier_result[static_cast<int>(kernels::BarrierOf(rows.flags[row]))];
  statistics.terminated += (rows.flags[row] & kernels::kFlagTerminated) != 0;
  statistics.truncated += (rows.flags[row] & kernels::kFlagTruncated) != 0;
  statistics.td_sum += rows.td[row];
  statistics.td_max = std::max(statistics.td_max, double{rows.td[row]});
}

void AppendSeries(const market::Dataset& dataset, const EvaluationPart& part,
                  std::span<const StepAccount> steps, std::span<const StepAccount> hold,
                  EvaluationSeries& series) {
  for (size_t i = 0; i < steps.size(); ++i) {
    series.time.push_back(dataset.timestamp()[part.begin + i + 1]);
    series.close.push_back(steps[i].next_close);
    series.position.push_back(steps[i].position);
    series.exposure.push_back(steps[i].exposure());
    series.equity.push_back(steps[i].equity);
    series.buy_and_hold.push_back(hold[i].equity);
  }
}

std::optional<double> RewardEquityCorrelation(const std::vector<double>& reward,
                                              const EvaluationSeries& series) {
  std::vector<double> cumulated, log_equity;
  double sum = 0;
  for (size_t i = 0; i < reward.size(); ++i) {
    if (series.equity[i] <= 0) return std::nullopt;
    cumulated.push_back(sum += reward[i]);
    log_equity.push_back(std::log(series.equity[i]));
  }
  return Correlation(cumulated, log_equity);
}

void Append(std::vector<StepAccount>& all, std::span<const StepAccount> more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

std::vector<market::BarRange> PartsOf(const market::Dataset& dataset, market::BarRange range) {
  std::vector<market::BarRange> parts;
  uint64_t begin = range.begin;
  for (uint64_t bar = range.begin; bar < range.end; ++bar) {
    if (!dataset.last()[bar] && bar + 1 != range.end) continue;
    if (bar > begin) parts.push_back({begin, bar + 1});
    begin = bar + 1;
  }
  return parts;
}

absl::StatusOr<Evaluation> Evaluate(const EvaluatorOptions& options) {
  const market::Dataset& dataset = *options.dataset;
  const bool has_curiosity = !options.weights.curiosity.values.empty();
  const kernels::EnvSettings settings = ForEvaluation(options.settings, has_curiosity);
  const kernels::Rules rules = kernels::MakeRules(settings, 0);

  Evaluation evaluation;
  evaluation.begin = options.range.begin;
  evaluation.end = options.range.end;
  evaluation.initial_capital = settings.initial_capital;
  evaluation.calendar = CalendarName(options.calendar);
  evaluation.risk_free = options.risk_free;

  PartRunner runner(options, settings);
  std::vector<StepAccount> all, all_hold, all_flat;
  std::vector<double> rewards;
  std::vector<Trade> hold_trades;
  double capital = evaluation.initial_capital;
  double hold_capital = capital;
  for (const market::BarRange range : PartsOf(dataset, options.range)) {
    if (capital <= 0) {
      evaluation.warnings.push_back(absl::StrCat("The equity reached 0: the bars from ",
                                                 range.begin, " on were not traded."));
      break;
    }
    EvaluationPart part{.begin = range.begin,
                        .end = range.end,
                        .first_step = all.size(),
                        .begin_time = dataset.timestamp()[range.begin],
                        .begin_price = dataset.targets()[4 * range.begin],
                        .capital = capital};
    PartReplay replay(rules, dataset, range.begin, capital / evaluation.initial_capital);
    std::span<const uint8_t> scripted = options.scripted;
    if (!scripted.empty()) {
      if (scripted.size() < all.size() + (range.end - range.begin - 1)) {
        return absl::InvalidArgumentError(
            absl::StrCat("scripted: ", scripted.size(), " actions, the part from bar ", range.begin,
                         " needs ", all.size() + (range.end - range.begin - 1)));
      }
      scripted = scripted.subspan(all.size());
    }
    VIXEN_ASSIGN_OR_RETURN(
        part.ended_by_ruin,
        runner.Run(range, scripted, [&](const kernels::BatchView& rows, size_t row) {
          CountRow(rows, row, evaluation);
          rewards.push_back(rows.reward[row]);
          return replay.Step(rows, row);
        }));
    const std::vector<StepAccount>& steps = replay.steps();
    part.steps = steps.size();

    std::vector<double> closes = {part.begin_price};
    for (const StepAccount& step : steps) closes.push_back(step.next_close);
    const auto hold = BuyAndHold(hold_capital, closes, rules.rate[kMarketNormal]);
    const auto times = dataset.timestamp().subspan(range.begin, steps.size() + 1);
    for (Trade& trade : TradesOf(steps, times, part.first_step)) {
      evaluation.trades.push_back(trade);
    }
    for (Trade& trade : TradesOf(hold, times, part.first_step)) hold_trades.push_back(trade);
    AppendSeries(dataset, part, steps, hold, evaluation.series);
    Append(all, steps);
    Append(all_hold, hold);
    Append(all_flat, StayFlat(evaluation.initial_capital, closes));
    capital = steps.back().equity;
    hold_capital = hold.back().equity;
    evaluation.largest_equity_difference =
        std::max(evaluation.largest_equity_difference, replay.largest_difference());
    evaluation.parts.push_back(part);
  }
  if (all.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("range ", options.range.begin, ":", options.range.end, " holds no step"));
  }

  std::vector<int64_t> times;
  std::vector<uint8_t> last;
  for (const EvaluationPart& part : evaluation.parts) {
    for (uint64_t bar = part.begin; bar <= part.begin + part.steps; ++bar) {
      times.push_back(dataset.timestamp()[bar]);
      last.push_back(bar == part.begin + part.steps);
    }
  }
  evaluation.annualisation = ChooseAnnualisation(times, last, all.size(), options.calendar);
  const double initial = evaluation.initial_capital;
  const double steps_a_year = evaluation.annualisation.steps_a_year;
  evaluation.policy =
      ComputeMetrics(initial, all, evaluation.trades, steps_a_year, options.risk_free);
  evaluation.buy_and_hold =
      ComputeMetrics(initial, all_hold, hold_trades, steps_a_year, options.risk_free);
  evaluation.flat = ComputeMetrics(initial, all_flat, {}, steps_a_year, options.risk_free);
  for (const StepAccount& step : all) evaluation.statistics.trades += step.fill_count;
  evaluation.reward_equity_correlation = RewardEquityCorrelation(rewards, evaluation.series);
  evaluation.random_timing = CompareWithRandomTiming(all, options.timing_shifts);
  if (runner.info() != nullptr) evaluation.identity.device = runner.info()->device;
  evaluation.identity.precision = "fp32";
  AddWarnings(evaluation);
  return evaluation;
}

}  // namespace vixen::tool
