// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace vixen::learner {

// What one update saw.
struct UpdateStatistics {
  double loss = 0;  // mean of weight · Huber
  double mean_abs_td = 0;
  double mean_q = 0;  // over rows and allowed actions
  double max_q = 0;
  double gradient_norm = 0;  // before clipping
  double clipped_rows = 0;   // share of rows whose |δ| is beyond the Huber limit
};

// One row of the loss. `rows`: B.
struct TdRow {
  double q = 0;  // of the taken action
  double reward = 0, discount = 0;
  double bootstrap = 0;  // the target's Q of a*; not read where the discount is 0
  double weight = 0, huber_delta = 1, rows = 1;
};
struct TdLossRow {
  float gradient = 0;  // by q
  float abs_td = 0;
};
// Adds the row to the sums of loss, |td| and clipped rows.
TdLossRow LossOfRow(const TdRow& row, UpdateStatistics& sums);

// The double-DQN target and the gradient of the loss by Q, over the n allowed actions only
// (arXiv:1509.06461):
//   a* = argmax_a choose[i, a] (lowest index wins), y = reward + discount·next[i, a*],
//   δ = Q[i, action] − y, loss = Σ weight·Huber(δ)/B, gradient = weight·clamp(δ, ±huber_delta)/B.
// A discount of 0 selects the reward: what next[] holds there does not matter, even NaN.
struct TdLossInput {
  uint32_t rows = 0;                 // B
  uint32_t actions = 0;              // n
  std::span<const float> q;          // [B, n] online, s
  std::span<const float> choose;     // [B, n] picks a*: online or target, bootstrap states
  std::span<const float> next;       // [B, n] target, bootstrap states
  std::span<const uint32_t> action;  // [B] column of the taken action
  std::span<const float> reward, discount, weight;  // [B]
  double huber_delta = 1.0;
};

// Fills `gradient` [B, n], `abs_td` [B] and, where it is not empty, `taken_q` [B] with Q of the
// taken action; the statistics lack only the gradient's norm. O(B·n).
UpdateStatistics ComputeTdLoss(const TdLossInput& input, std::span<float> gradient,
                               std::span<float> abs_td, std::span<float> taken_q = {});

}  // namespace vixen::learner
