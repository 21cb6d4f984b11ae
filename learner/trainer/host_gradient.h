// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/nn/network.h"
#include "learner/trainer/minibatch.h"
#include "learner/trainer/td_loss.h"

namespace vixen::learner {

struct HostGradientOptions {
  kernels::Architecture architecture;
  std::vector<uint8_t> actions;  // allowed, ascending
  uint32_t batch_size = 128;
  double huber_delta = 1;
  bool double_dqn = true;
  int threads = 1;
};

// Loss and gradient of a minibatch on the processor: the three forward passes, the loss and the
// backward pass for a block of rows at a time, whose activations stay in the second cache. Only
// what the loss needs is computed: of the bootstrap states the online network's advantages, to
// choose a*, and the target's Q of that action alone; behind the head only the taken action's row
// carries a gradient. Each thread has its share of the rows and a gradient of its own; they are
// added in the order of the threads, so that equal threads give equal bits.
class HostGradient {
 public:
  explicit HostGradient(const HostGradientOptions& options);
  ~HostGradient();

  // `online` and `target`: flat, in the order of DuelingNetwork. Fills `gradient`, of the same
  // layout, `abs_td` [B] and `taken_q` [B]; the statistics lack the gradient's norm. `column` [B]:
  // the taken actions among the allowed.
  UpdateStatistics Compute(const float* online, const float* target, const Minibatch& batch,
                           std::span<const uint32_t> column, float* gradient,
                           std::span<float> abs_td, std::span<float> taken_q);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vixen::learner
