// SPDX-License-Identifier: Apache-2.0
#include "kernels/batch/statistics.h"

#include <algorithm>

namespace vixen::kernels {

void LaunchStatistics::Add(const LaunchStatistics& other) {
  for (int i = 0; i < kRewardTerms; ++i) {
    term_sum[i] += other.term_sum[i];
    term_sum_squares[i] += other.term_sum_squares[i];
  }
  valid_rows += other.valid_rows;
  explored += other.explored;
  for (int i = 0; i < kExposures; ++i) exposure_class[i] += other.exposure_class[i];
  for (int i = 0; i < 4; ++i) barrier_result[i] += other.barrier_result[i];
  terminated += other.terminated;
  truncated += other.truncated;
  episodes_ended += other.episodes_ended;
  episode_reward_sum += other.episode_reward_sum;
  episode_reward_sum_squares += other.episode_reward_sum_squares;
  episode_return_sum += other.episode_return_sum;
  episode_return_sum_squares += other.episode_return_sum_squares;
  episode_length_sum += other.episode_length_sum;
  trades += other.trades;
  traded_notional += other.traded_notional;
  costs += other.costs;
  td_sum += other.td_sum;
  td_max = std::max(td_max, other.td_max);
  clamped_activations += other.clamped_activations;
}

}  // namespace vixen::kernels
