// SPDX-License-Identifier: Apache-2.0
// The rules compile for the device as they are: one thread a slot, a loop over StepSlot.
#include <cstdint>

#include "kernels/batch/batch.h"
#include "kernels/env/step.h"

namespace vixen::kernels {

// q [slots, 45] stands for the online network; columns are [slots, steps].
__global__ void LoopOverRules(Rules rules, MarketView market, uint64_t seed, float epsilon,
                              const float* q, BatchView view, uint32_t slots) {
  const uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= slots) return;
  const SlotSeed start = SeedOfSlot(seed, 0, n);
  SlotState slot = FreshSlot(rules, start.rng, StartBar(market, start.start_draw), 0);
  for (uint32_t step = 0; step < rules.launch_steps && slot.active != 0; ++step) {
    const float* values = q + size_t{n} * kActions;
    const int greedy = GreedyAction(rules.settings, values, 1);
    const Choice choice = ChooseAction(rules.settings, epsilon, greedy, -1, slot.rng);
    const StepRecord record = StepSlot(rules, market, choice, step, slot);
    const size_t row = size_t{n} * rules.launch_steps + step;
    const float curiosity = CuriosityTerm(rules.settings, values[0]);
    const bool terminated = (record.flags & kFlagTerminated) != 0;
    view.bar[row] = record.bar;
    view.flags[row] = record.flags;
    view.reward[row] =
        RewardOf(record.pnl, record.barrier, record.risk, record.diversity, curiosity);
    view.td[row] =
        TdError(rules.settings, terminated, view.reward[row], values[1], values[choice.action]);
  }
}

}  // namespace vixen::kernels
