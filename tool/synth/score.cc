// SPDX-License-Identifier: Apache-2.0
#include "tool/synth/score.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/collect/collector.h"
#include "kernels/executors/market_view.h"
#include "market/synth/bed_dataset.h"
#include "market/synth/bed_settings.h"
#include "market/synth/optimum.h"
#include "proto/config/config_file.h"
#include "proto/config/settings.h"

namespace vixen::tool {
namespace {

// A uniformly random policy of three positions changes 8/9 of a unit a step.
constexpr double kRandomTurnover = 8.0 / 9;

// The bed's settings for one unbroken episode a slot.
absl::StatusOr<kernels::EnvSettings> EvaluationSettings(const market::BedTraits& traits) {
  v1::EnvironmentSettings settings;
  VIXEN_RETURN_IF_ERROR(config::ParseConfig(market::BedEnvironment(traits),
                                            base::StrCat("settings of bed ", traits.name), settings)
                            .status());
  settings.set_carry_over(false);
  settings.set_recycle(false);
  settings.set_max_episode_steps(0);
  return config::ToEnvSettings(settings);
}

absl::Status CheckColumns(const market::Bed& bed, const market::Dataset& dataset,
                          const kernels::PolicyWeights& weights) {
  const std::string own = base::ToHex(dataset.scaler_fingerprint());
  if (weights.scaler_fingerprint.empty() || weights.scaler_fingerprint == own)
    return absl::OkStatus();
  return absl::FailedPreconditionError(
      base::StrCat("weights were trained on other columns than those of bed ", bed.traits().name,
                   ": scaler fingerprint ", weights.scaler_fingerprint, ", the bed's is ", own));
}

template <typename T>
std::span<const T> Values(const kernels::Batch& batch, kernels::ColumnId id) {
  const std::span<const std::byte> bytes = batch.Column(id);
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

// Position index 0, 1, 2 (short, flat, long) that an action asks for.
int PositionOf(uint8_t action) {
  for (int position = 0; position < market::kPositions; ++position) {
    if (market::kBedActions[position] == action) return position;
  }
  return market::kFlatPosition;
}

absl::StatusOr<PolicyRecord> RecordOf(const kernels::Batch& batch) {
  const auto flags = Values<uint8_t>(batch, kernels::ColumnId::kFlags);
  const auto actions = Values<uint8_t>(batch, kernels::ColumnId::kAction);
  const auto rewards = Values<float>(batch, kernels::ColumnId::kReward);
  PolicyRecord record;
  uint64_t rows = 0;
  for (size_t slot = 0; slot < batch.episodes(); ++slot) {
    int position = market::kFlatPosition;
    for (size_t row = slot * batch.steps(); row < (slot + 1) * batch.steps(); ++row) {
      if ((flags[row] & kernels::kFlagValid) == 0) break;
      const int wanted = PositionOf(actions[row]);
      ++rows;
      record.reward += rewards[row];
      record.turnover += std::abs(wanted - position);
      if (wanted == position) {
        ++(wanted == market::kFlatPosition ? record.hold_flat_share
                                           : record.hold_in_position_share);
      }
      position = wanted;
    }
  }
  if (rows == 0) return absl::InternalError("the evaluation gave no valid row");
  for (double* sum : {&record.reward, &record.turnover, &record.hold_flat_share,
                      &record.hold_in_position_share}) {
    *sum /= static_cast<double>(rows);
  }
  return record;
}

absl::StatusOr<BarrierOdds> OddsOf(const kernels::Batch& batch) {
  std::array<double, 4> count{};  // by BarrierResult
  for (const uint8_t flags : Values<uint8_t>(batch, kernels::ColumnId::kFlags)) {
    if ((flags & kernels::kFlagValid) == 0) {
      return absl::InternalError("an episode of the evaluation ended before its last step");
    }
    ++count[(flags >> kernels::kBarrierShift) & 3];
  }
  const double results = count[1] + count[2] + count[3];
  if (results == 0) return absl::InternalError("no position reached a barrier: raise --steps");
  return BarrierOdds{.profit = count[1] / results,
                     .stop = count[2] / results,
                     .time = count[3] / results,
                     .mean_bars = (count[0] + results) / results,
                     .results = static_cast<uint64_t>(results)};
}

// The evaluation market with the policy loaded: runs it greedily or from a script.
class Evaluator {
 public:
  static absl::StatusOr<Evaluator> Make(const market::Bed& bed,
                                        const market::BedEvaluation& evaluation,
                                        const kernels::PolicyWeights& weights, uint32_t steps) {
    Evaluator evaluator;
    const auto episodes = static_cast<uint32_t>(evaluation.paths.size());
    kernels::CollectorOptions options;
    VIXEN_ASSIGN_OR_RETURN(options.settings, EvaluationSettings(bed.traits()));
    options.market = kernels::MarketViewOf(*evaluation.dataset, {0, evaluation.dataset->bars()});
    options.architecture = weights.online.architecture;
    options.episodes = episodes;
    options.steps = steps;
    options.precision = kernels::Precision::kFp32;
    VIXEN_ASSIGN_OR_RETURN(evaluator.collector_, kernels::MakeCpuCollector(options));
    for (const kernels::Parameters* parameters : {&weights.online, &weights.target}) {
      VIXEN_RETURN_IF_ERROR(evaluator.collector_->StageWeights(*parameters).status());
      evaluator.collector_->CommitWeights(parameters->kind);
    }
    for (uint32_t i = 0; i < episodes; ++i) evaluator.starts_.push_back(i * (steps + 1));
    evaluator.batch_ = std::make_unique<kernels::Batch>(episodes, steps, false);
    return evaluator;
  }

  // `actions` empty: the greedy policy; else [episodes, steps].
  absl::StatusOr<PolicyRecord> Run(std::span<const uint8_t> actions) {
    VIXEN_RETURN_IF_ERROR(Launch(actions));
    return RecordOf(*batch_);
  }
  absl::StatusOr<BarrierOdds> RunBarriers(std::span<const uint8_t> actions) {
    VIXEN_RETURN_IF_ERROR(Launch(actions));
    return OddsOf(*batch_);
  }

 private:
  absl::Status Launch(std::span<const uint8_t> actions) {
    kernels::LaunchRequest request;
    request.inputs.starts = starts_;
    request.inputs.actions = actions;
    VIXEN_RETURN_IF_ERROR(collector_->Launch(request, *batch_));
    return collector_->Wait(*batch_);
  }

  std::unique_ptr<kernels::Collector> collector_;
  std::vector<uint32_t> starts_;
  std::unique_ptr<kernels::Batch> batch_;
};

std::vector<uint8_t> Script(const market::Optimum& optimum, const market::BedEvaluation& evaluation,
                            uint32_t steps) {
  std::vector<uint8_t> actions;
  for (const market::BedPath& path : evaluation.paths) {
    std::vector<uint8_t> positions = optimum.Follow(path);
    positions.resize(steps);
    for (uint8_t position : positions)
      actions.push_back(static_cast<uint8_t>(market::kBedActions[position]));
  }
  return actions;
}

// Any policy: the script alone acts.
kernels::PolicyWeights NoPolicy(uint32_t features) {
  kernels::PolicyWeights weights;
  const kernels::Architecture architecture{features, 16, 16, 16, 16, 16};
  for (auto [parameters, kind] : {std::pair(&weights.online, kernels::WeightsKind::kOnline),
                                  std::pair(&weights.target, kernels::WeightsKind::kTarget)}) {
    parameters->architecture = architecture;
    parameters->kind = kind;
    parameters->values.assign(kernels::ParameterCount(architecture, kind), 0.0f);
  }
  return weights;
}

}  // namespace

absl::StatusOr<BarrierOdds> MeasureBarriers(const market::Bed& bed, uint32_t episodes,
                                            uint32_t steps) {
  VIXEN_ASSIGN_OR_RETURN(
      const market::BedEvaluation evaluation,
      market::MakeBedEvaluation(bed, kFirstEvaluationSeed, episodes, steps, /*distractors=*/0));
  const auto signals = static_cast<uint32_t>(bed.traits().signals.size());
  VIXEN_ASSIGN_OR_RETURN(Evaluator evaluator,
                         Evaluator::Make(bed, evaluation, NoPolicy(signals), steps));
  const std::vector<uint8_t> always_long(size_t{episodes} * steps,
                                         static_cast<uint8_t>(market::kBedActions[2]));
  return evaluator.RunBarriers(always_long);
}

absl::StatusOr<BedScore> ScorePolicy(const market::Bed& bed, const kernels::PolicyWeights& weights,
                                     uint32_t episodes, uint32_t steps) {
  const market::BedTraits& traits = bed.traits();
  const uint32_t features = weights.online.architecture.features;
  if (features < traits.signals.size()) {
    return absl::FailedPreconditionError(base::StrCat("weights take ", features, " features, bed ",
                                                      traits.name, " has ", traits.signals.size()));
  }
  BedScore result;
  result.distractors = features - static_cast<uint32_t>(traits.signals.size());
  VIXEN_ASSIGN_OR_RETURN(
      const market::BedEvaluation evaluation,
      market::MakeBedEvaluation(bed, kFirstEvaluationSeed, episodes, steps, result.distractors));
  VIXEN_RETURN_IF_ERROR(CheckColumns(bed, *evaluation.dataset, weights));
  const market::Optimum optimum = market::SolveOptimum(bed.Chain(), traits.cost);
  VIXEN_ASSIGN_OR_RETURN(Evaluator evaluator, Evaluator::Make(bed, evaluation, weights, steps));
  VIXEN_ASSIGN_OR_RETURN(result.agent, evaluator.Run({}));
  VIXEN_ASSIGN_OR_RETURN(result.optimal, evaluator.Run(Script(optimum, evaluation, steps)));
  result.optimum = optimum.reward;
  result.steps = uint64_t{episodes} * steps;
  const bool stay_out = optimum.reward < 1e-6;
  if (!stay_out && result.optimal.reward <= 0) {
    return absl::FailedPreconditionError(
        base::StrCat("the best policy earned ", result.optimal.reward, " in ", result.steps,
                     " steps: too few to score against; raise --episodes or --steps"));
  }
  result.score = stay_out ? 1 + result.agent.reward / (kRandomTurnover * traits.cost)
                          : result.agent.reward / result.optimal.reward;
  return result;
}

}  // namespace vixen::tool
