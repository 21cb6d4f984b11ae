// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/env/settings.h"
#include "kernels/nn/network.h"
#include "market/dataset.h"
#include "tool/eval/annualisation.h"
#include "tool/eval/book_run.h"
#include "tool/eval/evaluation.h"

namespace vixen::tool {

struct EvaluatorOptions {
  std::shared_ptr<const market::Dataset> dataset;
  market::BarRange range;  // effective: Dataset::EffectiveRange
  kernels::PolicyWeights weights;
  // 0: none. Else the range is cut into so many stretches of equally many steps.
  uint64_t folds = 0;
  // A policy a fold instead of `weights`; empty: `weights` on all.
  std::vector<kernels::PolicyWeights> fold_weights;
  // Costs, fills, reserve and reward of the run; on_barrier, carry_over, recycle and
  // max_episode_steps are set to what an evaluation needs, whatever is given.
  kernels::EnvSettings settings;
  Calendar calendar = Calendar::k24x7;
  double risk_free = 0;  // a year
  float epsilon = 0;     // share of random actions; 0: the greedy policy, and one run
  uint64_t seed = 1;     // of the first run and of the resamples
  uint64_t seeds = 1;    // runs with seed, seed + 1, …
  std::vector<double> cost_scales = {1, 2, 4};
  MovingAverageRule moving_average;
  BootstrapOptions bootstrap;
  uint64_t timing_shifts = 200;
  // One action a step over all parts, instead of the policy's choice; empty: the policy.
  std::span<const uint8_t> scripted;
};

// Runs the policy over every part of the range through the CPU executor, beside it the runs with
// other costs on threads of their own, and keeps the books. Identity, settings' texts, the folds'
// provenance and warnings about the command's inputs are the caller's. INVALID_ARGUMENT when a fold
// holds no step; INTERNAL when the books disagree with the executor's portfolio columns.
absl::StatusOr<Evaluation> Evaluate(const EvaluatorOptions& options);

}  // namespace vixen::tool
