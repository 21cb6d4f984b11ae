// SPDX-License-Identifier: Apache-2.0
// What the kernels of one update read and write: pointers into device memory, passed by value.
// "Transposed" buffers are [features, rows], rows contiguous, so that the weights' gradients are
// products of two operands with contiguous k; for the wgmma passes in blocks of 32 rows, each
// [features, rows in the order of tile::RowPlace] in the 128-byte swizzle. B rows a minibatch, R of
// them with padding.
#pragma once

#include <cstdint>

#include "learner/device/network_layout.h"

namespace vixen::learner {

// Set by the host before each graph launch.
struct UpdateControl {
  uint64_t updates = 0;    // made before this launch
  uint64_t steps = 0;      // Adam's, fewer than the updates where training went on from weights
  uint64_t sampler = 0;    // SplitMix64 state
  uint64_t inserted = 0;   // rows ever
  uint64_t size = 0;       // rows in the ring
  double least_share = 0;  // of all ranks; 0: this replay's own
  uint64_t curiosity_steps = 0;  // Adam's of the curiosity model, before this launch
  uint64_t spoiled = 0;          // planted fault: number of the update whose first reward is NaN
  // Written by the device: 1 + index in the launch of the update that was not finite; 0: none.
  uint32_t failed = 0;
  uint32_t curiosity_failed = 0;  // the same of the curiosity model
};

// What ranks add up behind the gradient: means over their minibatches.
enum RankFigure : uint32_t { kMeanLoss, kMeanAbsTd, kMeanQ, kClippedShare };
inline constexpr uint32_t kRankFigures = 16;  // with padding

// Of one update, from the device.
struct DeviceStatistics {
  double loss = 0, mean_abs_td = 0, mean_q = 0, max_q = 0, gradient_norm = 0, clipped_rows = 0;
  double weight_sum = 0, weight_squares = 0;  // importance weights
  double curiosity_loss = 0;                  // where the curiosity model was trained with it
  double own_loss = 0;                        // of this rank; `loss` is the mean over all
};

// Sums over a block's rows.
struct LossPart {
  double loss, abs_td, q, max_q, clipped, weight, weight_squares;
};

// Of one Adam step.
struct StepScalars {
  float scale;  // of the gradient; NaN: no step is made
  float size, root_correction;
};

struct UpdateSettings {
  uint32_t batch = 0;  // B
  uint32_t rows = 0;   // R
  uint64_t actions = 0;
  uint32_t action_count = 0;
  double huber_delta = 1;
  bool double_dqn = true;
  double learning_rate = 5e-4, adam_epsilon = 1e-5, weight_decay = 0;
  double max_gradient_norm = 10;
  double polyak_tau = 0.005;
  uint64_t target_period = 0;
  bool frozen_target = false, ascent = false;
};

struct UpdateBuffers {
  // Minibatch.
  void* states = nullptr;          // [2, R, S padded] operands: s, then the bootstrap states
  uint8_t* action = nullptr;       // [R]
  float* reward = nullptr;         // [R]
  float* discount = nullptr;       // [R]
  float* weight = nullptr;         // [R]
  uint32_t* slot = nullptr;        // [R]
  uint64_t* generation = nullptr;  // [R]
  float* abs_td = nullptr;         // [R]
  float* taken_q = nullptr;        // [R]
  float* sum_q = nullptr;          // [R], over the allowed actions, and
  float* most_q = nullptr;         // [R] the largest, online of s
  uint8_t* best = nullptr;         // [R], of s_m, by the online network if double_dqn
  float* next_q = nullptr;         // [R, 48], target of s_m

  // Activations: the input of each layer, transposed, and ∂loss/∂(its sums), transposed.
  void* input[DeviceNetwork::kLayers] = {};        // [inputs padded to 64, R]
  void* gradient_of[DeviceNetwork::kLayers] = {};  // [outputs padded to 64, R]
  // Of the wgmma passes: which of the hidden outputs are not positive, [R / 32, 512], bits in the
  // order in which a thread holds them.
  uint16_t* negative[DeviceNetwork::kLayers - 1] = {};

  // Parameters.
  float* online = nullptr;  // [parameters]
  float* target = nullptr;
  float* first = nullptr;
  float* second = nullptr;
  float* gradient = nullptr;     // [parameters + kRankFigures]
  float* partial = nullptr;      // [splits, parameters], or the sum over the ranks of `gradient`
  void* online_image = nullptr;  // operand images of the weights
  void* online_transposed = nullptr;
  void* target_image = nullptr;

  LossPart* loss_part = nullptr;    // [blocks of the backward pass]
  double* norm_part = nullptr;      // [blocks of the reduction]
  uint32_t* done_blocks = nullptr;  // of the reduction; 0 between updates
  StepScalars* step = nullptr;
  UpdateControl* control = nullptr;
  const uint32_t* lost = nullptr;  // host memory: not 0 once another rank is lost, nothing is
                                   // applied from then on
  DeviceStatistics* statistics = nullptr;  // [updates a launch]
};

}  // namespace vixen::learner
