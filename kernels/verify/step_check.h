// SPDX-License-Identifier: Apache-2.0
// The specification's check of precisions below fp32 ("Precision"): every row is computed again in
// float64 from its recorded state, so that one flipped action does not hide the rest.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/batch/batch.h"
#include "kernels/collect/collector.h"
#include "kernels/nn/network.h"
#include "kernels/verify/golden_case.h"

namespace vixen::kernels {

inline constexpr double kStepTolerance = 2e-3;  // of the row's range of Q

struct StepCheckResult {
  uint64_t rows = 0;            // valid rows compared
  uint64_t other_actions = 0;   // greedy rows whose action is not the reference's
  double largest_q_error = 0;   // |Q − reference| / the row's range of reference Q
  double largest_margin = 0;    // (best − taken) / range over `other_actions`
  double largest_td_error = 0;  // |td − reference| / (range of the row's Q), without double DQN

  bool passed() const {
    return rows > 0 && largest_q_error <= kStepTolerance && largest_margin <= kStepTolerance;
  }
  std::string Describe() const;
};

// `batch` must have q. `stride`: every stride-th row is checked. `scripted`: actions were given.
StepCheckResult CheckSteps(const CollectorOptions& options, const Parameters& online,
                           const Parameters& target, Batch& batch, uint64_t stride,
                           bool scripted = false);

// The first launch of a golden case on a collector of `factory`, every row of it checked.
absl::StatusOr<StepCheckResult> RunStepCheck(const GoldenCase& golden,
                                             const CollectorFactory& factory);

}  // namespace vixen::kernels
