// SPDX-License-Identifier: Apache-2.0
// The last pass over a launch's rows: statistics in float64 and the slots' running episode reward.
#pragma once

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "base/worker_pool.h"
#include "kernels/batch/batch.h"
#include "kernels/env/slot_state.h"

namespace vixen::kernels {

// Sums over a slot's launch that no column holds.
struct SlotTrading {
  uint64_t fills = 0;
  double notional = 0;
  double costs = 0;
};

// Reads the finished rows in `view` (terms required) in slot and step order, so that the sums do
// not depend on the number of threads. `start`: the slots at the start of the launch. Adds each
// slot's rewards to `slots`' running episode reward. INTERNAL naming slot and step when a reward or
// TD error is not finite.
absl::Status ScanLaunch(const BatchView& view, uint32_t steps, float initial_capital,
                        std::span<const SlotState> start, std::span<const SlotTrading> trading,
                        std::span<SlotState> slots, base::WorkerPool& pool,
                        LaunchStatistics& statistics);

}  // namespace vixen::kernels
