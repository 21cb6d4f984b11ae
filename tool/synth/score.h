// SPDX-License-Identifier: Apache-2.0
// How much of a bed's optimum a policy earns.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/nn/network.h"
#include "market/synth/bed.h"

namespace vixen::tool {

// Evaluation markets are split from training by seed.
inline constexpr uint64_t kFirstEvaluationSeed = 999'000;

// Mean reward a step in bed units, and what the policy did.
struct PolicyRecord {
  double reward = 0;
  double turnover = 0;                // mean |change of position| a step
  double hold_flat_share = 0;         // of steps: flat and stayed flat
  double hold_in_position_share = 0;  // of steps: kept a position
};

struct BedScore {
  // Share of the optimum: reward(agent)/reward(optimum). Where the optimum is to stay out (b5):
  // 1 + reward/(8/9·c), so that a policy at random has 0.
  double score = 0;
  PolicyRecord agent;
  PolicyRecord optimal;  // the bed's best policy on the same noise through the same executor
  double optimum = 0;    // J* by dynamic programming
  uint64_t steps = 0;
  uint32_t distractors = 0;
};

// Runs the greedy policy of `weights` over `episodes` × `steps` of fresh market on the CPU
// executor, and the bed's best policy on the same bars. Distractor columns are added as the
// weights' width asks. FAILED_PRECONDITION when the weights were trained on other columns. Seconds
// for 256 × 1000.
absl::StatusOr<BedScore> ScorePolicy(const market::Bed& bed, const kernels::PolicyWeights& weights,
                                     uint32_t episodes, uint32_t steps);

// What positions reach first, as shares of the results.
struct BarrierOdds {
  double profit = 0, stop = 0, time = 0;
  double mean_bars = 0;  // from the entry to the result
  uint64_t results = 0;
};

// A long position held all the time, in b7: `episodes` × `steps` on the CPU executor, whose
// barriers are armed anew after each result. The last position of an episode is cut off, which
// shortens the mean by some 10/`steps`.
absl::StatusOr<BarrierOdds> MeasureBarriers(const market::Bed& bed, uint32_t episodes,
                                            uint32_t steps);

}  // namespace vixen::tool
