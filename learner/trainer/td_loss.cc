// SPDX-License-Identifier: Apache-2.0
#include "learner/trainer/td_loss.h"

#include <algorithm>
#include <cmath>

namespace vixen::learner {

UpdateStatistics ComputeTdLoss(const TdLossInput& input, std::span<float> gradient,
                               std::span<float> abs_td, std::span<float> taken_q) {
  UpdateStatistics statistics;
  const uint32_t n = input.actions;
  const double rows = input.rows;
  const double limit = input.huber_delta;
  double q_sum = 0;
  double q_max = input.q[0];
  std::fill(gradient.begin(), gradient.end(), 0.0f);
  for (uint32_t i = 0; i < input.rows; ++i) {
    const float* q = input.q.data() + size_t{i} * n;
    for (uint32_t a = 0; a < n; ++a) {
      q_sum += q[a];
      q_max = std::max<double>(q_max, q[a]);
    }
    double y = input.reward[i];
    if (input.discount[i] != 0.0f) {
      const float* choose = input.choose.data() + size_t{i} * n;
      const size_t best = static_cast<size_t>(std::max_element(choose, choose + n) - choose);
      y += static_cast<double>(input.discount[i]) * input.next[size_t{i} * n + best];
    }
    const uint32_t taken = input.action[i];
    const double delta = q[taken] - y;
    const double weight = input.weight[i];
    const double clamped = std::clamp(delta, -limit, limit);
    const double size = std::abs(delta);
    // ½c² + limit·(|δ| − c) with c = min(|δ|, limit); NaN stays NaN.
    statistics.loss +=
        weight * (size <= limit ? 0.5 * delta * delta : limit * (size - 0.5 * limit));
    statistics.mean_abs_td += size;
    if (size > limit) ++statistics.clipped_rows;
    if (!taken_q.empty()) taken_q[i] = q[taken];
    gradient[size_t{i} * n + taken] = static_cast<float>(weight * clamped / rows);
    abs_td[i] = static_cast<float>(size);
  }
  statistics.loss /= rows;
  statistics.mean_abs_td /= rows;
  statistics.clipped_rows /= rows;
  statistics.mean_q = q_sum / (rows * n);
  statistics.max_q = q_max;
  return statistics;
}

}  // namespace vixen::learner
