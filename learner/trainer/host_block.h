// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/nn/dense.h"
#include "kernels/nn/matrix.h"
#include "learner/trainer/host_gradient.h"
#include "learner/trainer/host_layers.h"
#include "learner/trainer/minibatch.h"
#include "learner/trainer/td_loss.h"

namespace vixen::learner {

// What the loss saw of each row of the minibatch, [B].
struct HostRows {
  explicit HostRows(size_t rows) : loss(rows), q_sum(rows), q_max(rows) {}

  std::vector<TdRow> loss;
  std::vector<float> q_sum, q_max;  // over the allowed actions
};

// The gradient while rows are added to it.
struct HostSums {
  HostSums(const HostLayout& layout, size_t actions)
      : first(layout.state * layout.h1), head(actions * layout.hs), head_bias(actions) {}

  float* flat = nullptr;         // all parameters; the first layer's weights and the head are apart
  kernels::AlignedFloats first;  // [S, H1]: of the first layer, transposed
  kernels::AlignedFloats head;   // [n, HV + HA]: of Q by the streams, HostLayers::head
  std::vector<float> head_bias;  // [n]
};

// One minibatch and the networks that it goes through.
struct HostPass {
  const HostLayers& online;
  const HostLayers& target;
  const Minibatch& batch;
  std::span<const uint32_t> column;  // [B] of the taken action among the allowed
};

// A block of rows on its way through forward passes, loss and backward pass; its activations stay
// in the second cache. Only what the loss needs is computed: of the bootstrap states the online
// network's advantages, to choose a*, and the target's Q of that action alone; behind the head only
// the taken action's row carries a gradient.
class HostBlock {
 public:
  // Rows of a block at most: what a layer reads and writes of them, and its weights, fit into a
  // cache of 1 MiB; fewer would have the threads wait for each other more often.
  static constexpr size_t kMostRows = 192;

  HostBlock(const HostGradientOptions& options, const HostLayout& layout, size_t padded_actions,
            size_t most_rows);

  // Rows [first, first + rows) of the minibatch, up to the gradients by every layer's output.
  void Run(const HostPass& pass, size_t first, size_t rows, HostRows& seen, std::span<float> abs_td,
           std::span<float> taken_q);
  // Adds those rows to part `part` of `parts` of the gradient, in their order: blocks that are
  // added in the order of their rows give the same bits however the rows were cut into blocks.
  void AddTo(const HostPass& pass, size_t part, size_t parts, HostSums& sums) const;

 private:
  using Floats = kernels::AlignedFloats;

  // The layers before the head. `streams_from`: the first column of the streams that is needed.
  void Forward(const HostLayers& network, const float* states, size_t streams_from, Floats& hidden1,
               Floats& hidden2, Floats& streams) const;
  // a*'s Q by the target network, or 0 where the discount selects the reward alone.
  void Bootstrap(const HostPass& pass);
  void Loss(const HostPass& pass, HostRows& seen, std::span<float> abs_td,
            std::span<float> taken_q);
  void Backward(const HostLayers& online);

  const HostGradientOptions& options_;
  const HostLayout& layout_;
  void (*const multiply_)(const kernels::MatrixProduct&);
  size_t first_ = 0, rows_ = 0;

  Floats hidden1_, hidden2_, streams_;                 // [R, H1], [R, H2], [R, HV + HA]
  Floats next_hidden1_, next_hidden2_, next_streams_;  // of the bootstrap states
  Floats q_, choice_;                                  // [R, n padded]
  Floats streams_gradient_, hidden2_gradient_, hidden1_gradient_;
  std::vector<double> bootstrap_;     // [R]
  std::vector<float> loss_gradient_;  // [R] by Q of the taken action
};

}  // namespace vixen::learner
