// SPDX-License-Identifier: Apache-2.0
#include "tool/config/reward_sample.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "bench/kernels/random_policy.h"
#include "kernels/collect/collector.h"
#include "kernels/executors/market_view.h"
#include "market/dataset.h"
#include "proto/config/settings.h"
#include "tool/eval/evaluation.h"
#include "tool/format.h"

namespace vixen::tool {
namespace {

using base::StrCat;
using kernels::WeightsKind;

constexpr uint64_t kRowsALaunch = 65'536;
constexpr uint64_t kRows = 50'000;
constexpr uint64_t kMostLaunches = 100;
constexpr uint64_t kSeed = 1;

// The setting that makes a term larger or smaller, in the order of the reward's terms.
constexpr const char* kScaleOf[] = {"pnl_scale", "barrier_bonus", "risk_scale", "diversity_penalty",
                                    "curiosity_max"};

absl::StatusOr<kernels::LaunchStatistics> Collect(const kernels::CollectorOptions& options,
                                                  float epsilon) {
  VIXEN_ASSIGN_OR_RETURN(const auto collector, kernels::MakeCpuCollector(options));
  for (const WeightsKind kind :
       {WeightsKind::kOnline, WeightsKind::kTarget, WeightsKind::kCuriosity}) {
    VIXEN_RETURN_IF_ERROR(
        collector->StageWeights(bench::RandomParameters(options.architecture, kind, kSeed))
            .status());
    collector->CommitWeights(kind);
  }
  kernels::Batch batch(options.episodes, options.steps, true);
  kernels::LaunchStatistics sum;
  for (uint64_t launch = 0; launch < kMostLaunches && sum.valid_rows < kRows; ++launch) {
    VIXEN_RETURN_IF_ERROR(
        collector->Launch({.seed = kSeed, .launch = launch, .epsilon = epsilon}, batch));
    VIXEN_RETURN_IF_ERROR(collector->Wait(batch));
    sum.Add(batch.statistics);
  }
  return sum;
}

double VarianceOf(const kernels::LaunchStatistics& s, size_t term) {
  const auto n = static_cast<double>(std::max<uint64_t>(s.valid_rows, 1));
  const double mean = s.term_sum[term] / n;
  return std::max(s.term_sum_squares[term] / n - mean * mean, 0.0);
}

double ShareOf(uint64_t part, const kernels::LaunchStatistics& s) {
  return static_cast<double>(part) / static_cast<double>(std::max<uint64_t>(s.valid_rows, 1));
}

// pnl and barrier both grow with pnl_scale, so that only against the other terms it helps.
std::string Remedy(const kernels::LaunchStatistics& s, size_t largest,
                   const v1::EnvironmentSettings& environment) {
  const double profit = VarianceOf(s, 0);
  if (largest == 1) return "lower barrier_bonus";
  if (profit <= 0) return StrCat("lower ", kScaleOf[largest]);
  const double scale = environment.pnl_scale() * std::sqrt(VarianceOf(s, largest) / profit);
  return StrCat("raise pnl_scale above ", Significant(scale, 2), ", or lower ", kScaleOf[largest],
                ", or take preset: RECOMMENDED");
}

}  // namespace

absl::StatusOr<RewardSample> SampleRewards(const std::string& data,
                                           const v1::EnvironmentSettings& environment) {
  VIXEN_ASSIGN_OR_RETURN(const auto dataset, market::Dataset::Load(data));
  VIXEN_ASSIGN_OR_RETURN(
      const market::BarRange range,
      dataset->EffectiveRange(environment.begin(), dataset->TrainingEnd(environment.end())));
  kernels::CollectorOptions options;
  options.settings = config::ToEnvSettings(environment);
  options.settings.carry_over = false;  // each launch from fresh bars
  // Actions come from draws or from a network that knows nothing: the least widths do.
  options.architecture = {.features = dataset->feature_count(),
                          .hidden1 = 16,
                          .hidden2 = 16,
                          .value_hidden = 16,
                          .advantage_hidden = 16,
                          .curiosity_hidden = 16};
  options.steps = environment.carry_over() && environment.max_episode_steps() > 0
                      ? environment.max_episode_steps()
                      : environment.steps();
  options.steps = std::clamp<uint32_t>(options.steps, 1, kRowsALaunch);
  options.episodes = static_cast<uint32_t>(
      std::clamp<uint64_t>(kRowsALaunch / options.steps, 1, environment.episodes()));
  options.market = kernels::MarketViewOf(*dataset, range);
  RewardSample sample;
  sample.bars = StrCat("bars ", range.begin, ":", range.end, " of ", Count(dataset->bars()));
  VIXEN_ASSIGN_OR_RETURN(sample.random, Collect(options, 1.0f));
  VIXEN_ASSIGN_OR_RETURN(sample.untrained, Collect(options, 0.0f));
  return sample;
}

std::string SampleText(const RewardSample& sample) {
  const auto random = RewardVarianceShares(sample.random);
  const auto untrained = RewardVarianceShares(sample.untrained);
  std::string text =
      StrCat("Expected share of the reward's variance, on ", sample.bars, " (",
             Count(sample.random.valid_rows), " rows a policy that knows nothing):\n");
  text += absl::StrFormat("  %-12s %16s %16s\n", "", "random actions", "untrained");
  for (size_t i = 0; i < random.size(); ++i) {
    text += absl::StrFormat("  %-12s %16s %16s\n", RewardTermNames()[i], Percent(random[i]),
                            Percent(untrained[i]));
  }
  constexpr const char* kResults[] = {"", "profit barrier", "stop", "time"};
  text += "Steps that end at a barrier:\n";
  for (size_t i = 1; i < std::size(kResults); ++i) {
    text += absl::StrFormat("  %-12s %14s %16s\n", kResults[i],
                            Percent(ShareOf(sample.random.barrier_result[i], sample.random)),
                            Percent(ShareOf(sample.untrained.barrier_result[i], sample.untrained)));
  }
  return text;
}

std::vector<std::string> SampleWarnings(const RewardSample& sample,
                                        const v1::EnvironmentSettings& environment) {
  std::vector<std::string> warnings;
  const auto judge = [&](const kernels::LaunchStatistics& s, const char* policy) {
    const auto shares = RewardVarianceShares(s);
    const auto largest =
        static_cast<size_t>(std::max_element(shares.begin(), shares.end()) - shares.begin());
    if (largest == 0 || shares[largest] <= 0) return;
    warnings.push_back(StrCat("with ", policy, " profit is ", Percent(shares[0]),
                              " of the reward's variance, ", RewardTermNames()[largest], " ",
                              Percent(shares[largest]), ": that is what would be learned first; ",
                              Remedy(s, largest, environment)));
  };
  judge(sample.random, "random actions");
  judge(sample.untrained, "an untrained policy");

  // An untrained model's error is above the cap everywhere; on its way down it may take any value.
  const double most = environment.curiosity_max() * environment.curiosity_max() / 4;
  const double profit = std::max(VarianceOf(sample.random, 0), VarianceOf(sample.untrained, 0));
  if (most > profit) {
    warnings.push_back(StrCat("curiosity_max ", environment.curiosity_max(),
                              " allows curiosity a variance of ", Significant(most, 2),
                              " while its model learns, and profit has ", Significant(profit, 2),
                              "; lower curiosity_max"));
  }

  const kernels::LaunchStatistics& s = sample.random;
  const uint64_t reached = s.barrier_result[1] + s.barrier_result[2];
  if (reached + sample.untrained.barrier_result[1] + sample.untrained.barrier_result[2] == 0) {
    warnings.push_back(StrCat("profit_target_bps ", environment.profit_target_bps(),
                              " and stop_loss_bps ", environment.stop_loss_bps(),
                              " were never reached: only max_holding_bars ",
                              environment.max_holding_bars(), " ends a position"));
  } else if (ShareOf(reached, s) > 0.3) {
    warnings.push_back(StrCat("with random actions ", Percent(ShareOf(reached, s)),
                              " of the steps reach a barrier: single bars move further than "
                              "profit_target_bps ",
                              environment.profit_target_bps(), " or stop_loss_bps ",
                              environment.stop_loss_bps(), "; raise them to several bars' moves"));
  }
  return warnings;
}

}  // namespace vixen::tool
