// SPDX-License-Identifier: Apache-2.0
// The specification's step-by-step check of a recorded launch ("Precision"): for launches made on
// another kind of processor or at another precision. The rules are replayed with the recorded
// actions, so that one flipped action does not hide the rest; what the networks gave is computed
// again in float64 from the recorded states.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kernels/batch/batch.h"
#include "kernels/collect/collector.h"
#include "kernels/nn/network.h"
#include "kernels/verify/launch_compare.h"

namespace vixen::kernels {

struct RecordedLaunch {
  uint64_t seed = 0;
  uint64_t launch = 0;
  float epsilon = 0;
  Precision precision = Precision::kFp32;
  std::span<const SlotState> slot_states;  // at its start, with carry_over and launch > 0
};

struct LaunchReplay {
  uint64_t rows = 0;                 // valid rows checked
  uint64_t other_actions = 0;        // greedy rows with another action, within the tolerance
  double largest_margin = 0;         // of those, (best − taken) / the row's range of Q
  std::optional<LaunchFault> fault;  // the first one; nothing after it is checked
};

// Exact: bar, episode, flags (also what the draws explored, and with which action). Within
// 1e-5 + 1e-4·|x|: portfolio, reward, terms (the curiosity term wider below fp32). TD: 1e-3 in
// fp32, else what errors of 2e-3 of the rows' ranges of Q can make. A greedy action may differ
// where the margin is below 2e-3 of the range. O(rows · parameters) in float64 on one thread.
LaunchReplay ReplayLaunch(const CollectorOptions& options, const Parameters& online,
                          const Parameters& target, const Parameters& curiosity,
                          const RecordedLaunch& launch, Batch& recorded);

}  // namespace vixen::kernels
