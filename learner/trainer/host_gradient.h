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

// Loss and gradient of a minibatch on the processor: each thread takes a block of rows through
// forward passes, loss and backward pass (host_block.h); then all threads add those blocks to the
// gradient, each to its part of the parameters and in the order of the rows. Bits do not depend on
// the number of threads. Memory: one gradient, two networks, and a thread the activations of a
// block, which does not grow with the parameters' number.
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
