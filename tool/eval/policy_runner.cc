// SPDX-License-Identifier: Apache-2.0
#include "tool/eval/policy_runner.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/collect/collector.h"
#include "kernels/env/rng.h"
#include "kernels/env/rules.h"
#include "kernels/executors/market_view.h"
#include "tool/eval/part_replay.h"

namespace vixen::tool {
namespace {

constexpr uint64_t kMostLaunchRows = 65'536;

// An executor whose slots all run the same part, one a seed.
class PartExecutor {
 public:
  static absl::StatusOr<std::unique_ptr<PartExecutor>> Make(const PolicyRunOptions& options,
                                                            const PlannedPart& part) {
    auto executor = std::make_unique<PartExecutor>();
    const market::Dataset& dataset = *options.dataset;
    const kernels::PolicyWeights& weights =
        options.weights.size() == 1 ? options.weights[0] : options.weights[part.fold];
    const uint64_t steps = part.range.end - part.range.begin - 1;
    const uint64_t most = std::max<uint64_t>(kMostLaunchRows / options.seeds.size(), 1);
    kernels::CollectorOptions collector{.settings = options.settings,
                                        .architecture = weights.online.architecture,
                                        .episodes = static_cast<uint32_t>(options.seeds.size()),
                                        .steps = static_cast<uint32_t>(std::min(steps, most)),
                                        .precision = kernels::Precision::kFp32,
                                        .threads = 1};
    // The range of the executor is the part, so that its last bar ends the episode.
    collector.market = kernels::MarketViewOf(dataset, part.range);
    VIXEN_ASSIGN_OR_RETURN(executor->collector_, kernels::MakeCpuCollector(collector));
    executor->batch_.emplace(collector.episodes, collector.steps, /*with_terms=*/true);
    std::vector<const kernels::Parameters*> kinds = {&weights.online, &weights.target};
    if (options.settings.curiosity_max > 0) kinds.push_back(&weights.curiosity);
    for (const kernels::Parameters* parameters : kinds) {
      VIXEN_RETURN_IF_ERROR(executor->collector_->StageWeights(*parameters).status());
      executor->collector_->CommitWeights(parameters->kind);
    }
    VIXEN_RETURN_IF_ERROR(executor->collector_->CanLaunch());
    return executor;
  }

  absl::StatusOr<kernels::BatchView> Launch(const kernels::LaunchRequest& request) {
    VIXEN_RETURN_IF_ERROR(collector_->Launch(request, *batch_));
    VIXEN_RETURN_IF_ERROR(collector_->Wait(*batch_));
    return batch_->view();
  }

  uint64_t launch_steps() const { return batch_->steps(); }
  const std::string& device() const { return collector_->info().device; }

 private:
  std::unique_ptr<kernels::Collector> collector_;
  std::optional<kernels::Batch> batch_;
};

void CountRow(const kernels::BatchView& rows, size_t row, const StepAccount& step, PolicyRun& run) {
  kernels::LaunchStatistics& statistics = run.statistics;
  for (int term = 0; term < kernels::kRewardTerms; ++term) {
    const double value = rows.terms[kernels::kRewardTerms * row + term];
    statistics.term_sum[term] += value;
    statistics.term_sum_squares[term] += value * value;
  }
  const int exposure = rows.action[row] / kernels::kStyles;
  const int barrier = static_cast<int>(kernels::BarrierOf(rows.flags[row]));
  ++statistics.valid_rows;
  statistics.explored += (rows.flags[row] & kernels::kFlagExplored) != 0;
  ++statistics.exposure_class[exposure];
  ++statistics.barrier_result[barrier];
  statistics.terminated += (rows.flags[row] & kernels::kFlagTerminated) != 0;
  statistics.truncated += (rows.flags[row] & kernels::kFlagTruncated) != 0;
  statistics.trades += static_cast<uint64_t>(step.fill_count);
  statistics.td_sum += rows.td[row];
  statistics.td_max = std::max(statistics.td_max, double{rows.td[row]});
  ++run.action[rows.action[row]];
  run.reward.push_back(rows.reward[row]);
  for (Outcome* outcome : {&run.by_exposure[exposure], &run.by_barrier[barrier]}) {
    ++outcome->steps;
    outcome->profit += step.equity - step.equity_before;
    outcome->costs += step.costs();
    outcome->reward += rows.reward[row];
  }
}

// One seed inside one part.
struct Slot {
  PolicyRun& run;
  EvaluationPart part;
  PartReplay replay;
  bool done = false;

  absl::Status Take(const kernels::BatchView& rows, size_t row) {
    VIXEN_RETURN_IF_ERROR(replay.Step(rows, row, run.books.steps));
    CountRow(rows, row, run.books.steps.back(), run);
    part.ended_by_ruin = (rows.flags[row] & kernels::kFlagTerminated) != 0;
    done = part.ended_by_ruin || (rows.flags[row] & kernels::kFlagTruncated) != 0;
    return absl::OkStatus();
  }
};

// The numbers of a seed's exploration in a part do not depend on which other seeds run.
std::vector<uint32_t> StartingNumbers(std::span<const uint64_t> seeds, uint64_t part) {
  std::vector<uint32_t> rng;
  rng.reserve(seeds.size());
  for (const uint64_t seed : seeds) rng.push_back(kernels::SeedOfSlot(seed, part, 0).rng);
  return rng;
}

absl::Status RunPart(const PolicyRunOptions& options, const kernels::Rules& rules,
                     const PlannedPart& part, uint64_t number, std::vector<PolicyRun>& runs) {
  const double initial = rules.settings.initial_capital;
  const uint64_t steps = part.range.end - part.range.begin - 1;
  VIXEN_ASSIGN_OR_RETURN(const auto executor, PartExecutor::Make(options, part));
  std::vector<Slot> slots;
  slots.reserve(runs.size());
  for (PolicyRun& run : runs) {
    run.device = executor->device();
    slots.push_back(
        {run, run.books.BeginPart(*options.dataset, part),
         PartReplay(rules, *options.dataset, part.range.begin, run.books.capital / initial)});
    slots.back().done = run.books.capital <= 0;
    if (slots.back().done && run.untraded_from == 0) run.untraded_from = part.range.begin;
  }
  const std::vector<uint32_t> rng = StartingNumbers(options.seeds, number);
  const std::vector<uint32_t> starts(runs.size(), static_cast<uint32_t>(part.range.begin));
  std::span<const uint8_t> scripted = options.scripted;
  if (!scripted.empty()) {
    const uint64_t from = slots[0].part.first_step;
    if (scripted.size() < from + steps) {
      return absl::InvalidArgumentError(absl::StrCat("scripted: ", scripted.size(),
                                                     " actions, the part from bar ",
                                                     part.range.begin, " needs ", from + steps));
    }
    scripted = scripted.subspan(from, steps);
  }
  const auto all_done = [&] {
    return std::all_of(slots.begin(), slots.end(), [](const Slot& slot) { return slot.done; });
  };
  std::vector<uint8_t> actions;
  const uint64_t launch_steps = executor->launch_steps();
  for (uint64_t done = 0, launch = 0; done < steps && !all_done(); done += launch_steps, ++launch) {
    kernels::LaunchRequest request{.seed = 0, .launch = launch, .epsilon = options.epsilon};
    if (launch == 0) {
      request.inputs.rng = rng;
      request.inputs.starts = starts;
    }
    if (!scripted.empty()) {
      const auto chunk = scripted.subspan(done, std::min(launch_steps, steps - done));
      actions.assign(chunk.begin(), chunk.end());
      actions.resize(launch_steps, options.settings.actions[0]);
      request.inputs.actions = actions;
    }
    VIXEN_ASSIGN_OR_RETURN(const kernels::BatchView rows, executor->Launch(request));
    for (size_t n = 0; n < slots.size(); ++n) {
      for (uint64_t step = 0; step < launch_steps && !slots[n].done; ++step) {
        VIXEN_RETURN_IF_ERROR(slots[n].Take(rows, n * launch_steps + step));
      }
    }
  }
  for (Slot& slot : slots) {
    if (!slot.done) {
      return absl::InternalError(
          absl::StrCat("bars ", part.range.begin, " to ", part.range.end,
                       ": the executor did not end the episode at the last bar"));
    }
    if (slot.run.books.capital <= 0) continue;
    slot.run.largest_difference =
        std::max(slot.run.largest_difference, slot.replay.largest_difference());
    slot.run.books.EndPart(*options.dataset, slot.part);
  }
  return absl::OkStatus();
}

}  // namespace

kernels::EnvSettings ForEvaluation(kernels::EnvSettings settings, bool has_curiosity) {
  settings.on_barrier = kernels::OnBarrier::kRelabel;
  settings.carry_over = true;
  settings.recycle = true;
  settings.max_episode_steps = 0;
  if (!has_curiosity) settings.curiosity_max = 0;
  return settings;
}

kernels::EnvSettings WithCosts(kernels::EnvSettings settings, double scale) {
  const auto factor = static_cast<float>(scale);
  for (float& cost : settings.cost_bps) {
    if (cost > 0) cost *= factor;
  }
  settings.spread *= factor;
  settings.borrow_bps *= factor;
  return settings;
}

absl::StatusOr<std::vector<PolicyRun>> RunPolicy(const PolicyRunOptions& options) {
  const kernels::Rules rules = kernels::MakeRules(options.settings, 0);
  std::vector<PolicyRun> runs(options.seeds.size());
  for (PolicyRun& run : runs) run.books.capital = rules.settings.initial_capital;
  for (size_t number = 0; number < options.parts.size(); ++number) {
    const bool solvent = std::any_of(runs.begin(), runs.end(),
                                     [](const PolicyRun& run) { return run.books.capital > 0; });
    if (!solvent) {
      for (PolicyRun& run : runs) {
        if (run.untraded_from == 0) run.untraded_from = options.parts[number].range.begin;
      }
      break;
    }
    VIXEN_RETURN_IF_ERROR(RunPart(options, rules, options.parts[number], number, runs));
  }
  return runs;
}

}  // namespace vixen::tool
