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
#include "tool/eval/evaluation.h"

namespace vixen::tool {

struct EvaluatorOptions {
  std::shared_ptr<const market::Dataset> dataset;
  market::BarRange range;  // effective: Dataset::EffectiveRange
  kernels::PolicyWeights weights;
  // Costs, fills, reserve and reward of the run. ε is 0; on_barrier, carry_over, recycle and
  // max_episode_steps are set to what an evaluation needs, whatever is given.
  kernels::EnvSettings settings;
  Calendar calendar = Calendar::k24x7;
  double risk_free = 0;  // a year
  uint64_t timing_shifts = 200;
  // One action a step over all parts, instead of the policy's choice; empty: the policy.
  std::span<const uint8_t> scripted;
};

// The range cut at segment ends; single bars are left out.
std::vector<market::BarRange> PartsOf(const market::Dataset& dataset, market::BarRange range);

// Runs the greedy policy over every part of the range through the CPU executor, one part after
// another, and keeps the books. Identity, settings' texts and warnings about the command's inputs
// are the caller's. INTERNAL when the books disagree with the executor's portfolio columns.
absl::StatusOr<Evaluation> Evaluate(const EvaluatorOptions& options);

}  // namespace vixen::tool
