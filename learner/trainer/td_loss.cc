// SPDX-License-Identifier: Apache-2.0
#include "learner/trainer/td_loss.h"

#include <algorithm>
#include <cmath>

namespace vixen::learner {

TdLossRow LossOfRow(const TdRow& row, UpdateStatistics& sums) {
  const double limit = row.huber_delta;
  const double y = row.reward + (row.discount != 0.0 ? row.discount * row.bootstrap : 0.0);
  const double delta = row.q - y;
  const double clamped = std::clamp(delta, -limit, limit);
  const double size = std::abs(delta);
  // ½δ² or limit·(|δ| − ½·limit); NaN stays NaN.
  sums.loss += row.weight * (size <= limit ? 0.5 * delta * delta : limit * (size - 0.5 * limit));
  sums.mean_abs_td += size;
  if (size > limit) ++sums.clipped_rows;
  return {.gradient = static_cast<float>(row.weight * clamped / row.rows),
          .abs_td = static_cast<float>(size)};
}

UpdateStatistics ComputeTdLoss(const TdLossInput& input, std::span<float> gradient,
                               std::span<float> abs_td, std::span<float> taken_q) {
  UpdateStatistics statistics;
  const uint32_t n = input.actions;
  const double rows = input.rows;
  double q_sum = 0;
  double q_max = input.q[0];
  std::fill(gradient.begin(), gradient.end(), 0.0f);
  for (uint32_t i = 0; i < input.rows; ++i) {
    const float* q = input.q.data() + size_t{i} * n;
    for (uint32_t a = 0; a < n; ++a) {
      q_sum += q[a];
      q_max = std::max<double>(q_max, q[a]);
    }
    double bootstrap = 0;
    if (input.discount[i] != 0.0f) {
      const float* choose = input.choose.data() + size_t{i} * n;
      const size_t best = static_cast<size_t>(std::max_element(choose, choose + n) - choose);
      bootstrap = input.next[size_t{i} * n + best];
    }
    const uint32_t taken = input.action[i];
    const TdLossRow loss = LossOfRow({.q = q[taken],
                                      .reward = input.reward[i],
                                      .discount = input.discount[i],
                                      .bootstrap = bootstrap,
                                      .weight = input.weight[i],
                                      .huber_delta = input.huber_delta,
                                      .rows = rows},
                                     statistics);
    if (!taken_q.empty()) taken_q[i] = q[taken];
    gradient[size_t{i} * n + taken] = loss.gradient;
    abs_td[i] = loss.abs_td;
  }
  statistics.loss /= rows;
  statistics.mean_abs_td /= rows;
  statistics.clipped_rows /= rows;
  statistics.mean_q = q_sum / (rows * n);
  statistics.max_q = q_max;
  return statistics;
}

}  // namespace vixen::learner
