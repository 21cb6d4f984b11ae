// SPDX-License-Identifier: Apache-2.0
// The slots' states at the start of a launch; the same for every executor.
#pragma once

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/batch/batch.h"
#include "kernels/collect/collector.h"
#include "kernels/env/rules.h"

namespace vixen::kernels {

// What a launch asks against what the collector is: sizes, ranges, startable bars, slot states that
// the rules can go on from. INVALID_ARGUMENT naming input, slot, step and value.
absl::Status CheckLaunch(const CollectorOptions& options, const LaunchRequest& request,
                         const Batch& batch);

// `kept`: the states after launch k−1, empty if there was none. FAILED_PRECONDITION when
// `carry_over` needs them and nothing replaces them.
absl::StatusOr<std::vector<SlotState>> StartSlots(const CollectorOptions& options,
                                                  const Rules& rules, const LaunchRequest& request,
                                                  std::span<const SlotState> kept);

}  // namespace vixen::kernels
