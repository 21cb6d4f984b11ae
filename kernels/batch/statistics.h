// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/env/settings.h"

namespace vixen::kernels {

// What a launch yields beside its rows ("A launch also yields"). Sums in float64, in a fixed order.
struct LaunchStatistics {
  double term_sum[kRewardTerms] = {};  // pnl, barrier, risk, diversity, curiosity
  double term_sum_squares[kRewardTerms] = {};
  uint64_t valid_rows = 0;
  uint64_t explored = 0;
  uint64_t exposure_class[kExposures] = {};
  uint64_t barrier_result[4] = {};  // none, profit, stop, time
  uint64_t terminated = 0;
  uint64_t truncated = 0;
  uint64_t episodes_ended = 0;
  double episode_reward_sum = 0;  // undiscounted
  double episode_reward_sum_squares = 0;
  double episode_return_sum = 0;  // net return of the episode: equity/initial_capital − 1
  double episode_return_sum_squares = 0;
  uint64_t episode_length_sum = 0;
  uint64_t trades = 0;         // fills of non-zero size
  double traded_notional = 0;  // / initial capital
  double costs = 0;            // / initial capital
  double td_sum = 0;
  double td_max = 0;
  // fp16 only: activations that were beyond its range and clamped to ±65,504.
  uint64_t clamped_activations = 0;

  void Add(const LaunchStatistics& other);
};

}  // namespace vixen::kernels
