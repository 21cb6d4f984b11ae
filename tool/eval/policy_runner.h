// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/batch/statistics.h"
#include "kernels/env/settings.h"
#include "kernels/nn/network.h"
#include "market/dataset.h"
#include "tool/eval/book_run.h"

namespace vixen::tool {

struct PolicyRunOptions {
  std::shared_ptr<const market::Dataset> dataset;
  std::span<const PlannedPart> parts;
  // Of each fold; one alone serves all folds.
  std::span<const kernels::PolicyWeights> weights;
  kernels::EnvSettings settings;  // as ForEvaluation left them
  float epsilon = 0;
  std::span<const uint64_t> seeds;  // ≥ 1; a run each, all side by side in one executor
  // One action a step over all parts instead of the policy's choice; one seed only.
  std::span<const uint8_t> scripted;
};

// What a step's decision came to, by what was decided or by the barrier that fell in it.
struct Outcome {
  uint64_t steps = 0;
  double profit = 0;  // Σ E_i − E_{i−1}, money of the chained curve
  double costs = 0;
  double reward = 0;
};

// One run of a policy over all parts.
struct PolicyRun {
  BookRun books;
  std::vector<float> reward;  // a step
  std::array<uint64_t, kernels::kActions> action{};
  std::array<Outcome, kernels::kExposures> by_exposure{};
  std::array<Outcome, 4> by_barrier{};  // none, profit, stop, time
  kernels::LaunchStatistics statistics;
  double largest_difference = 0;
  uint64_t untraded_from = 0;  // bar that the equity did not reach; 0: it reached all
  std::string device;
};

// Sets what an evaluation needs: relabel, carry_over, no step limit, no curiosity without weights.
kernels::EnvSettings ForEvaluation(kernels::EnvSettings settings, bool has_curiosity);

// Every fee, the spread and borrowing times `scale`. A rebate stays as it is: a test of harder
// conditions must not make them kinder.
kernels::EnvSettings WithCosts(kernels::EnvSettings settings, double scale);

// Runs each seed over every part through the CPU executor, a part after another, and keeps the
// books. Seed s explores by its own random numbers, the same for the same part, ε and software.
// INTERNAL when the books disagree with the executor's portfolio columns.
absl::StatusOr<std::vector<PolicyRun>> RunPolicy(const PolicyRunOptions& options);

}  // namespace vixen::tool
