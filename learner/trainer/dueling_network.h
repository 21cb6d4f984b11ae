// SPDX-License-Identifier: Apache-2.0
// LibTorch types inside: included only by the trainers' own sources.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "kernels/nn/network.h"

namespace vixen::learner {

// The activations of one forward pass over R rows, allocated once.
struct DuelingActivations {
  DuelingActivations(const kernels::Architecture& architecture, int64_t rows, int64_t actions,
                     const at::Device& device);

  at::Tensor hidden1;  // [R, H1]
  at::Tensor hidden2;  // [R, H2]
  at::Tensor streams;  // [R, HV + HA]: the value stream's hidden layer, then the advantage's
  at::Tensor q;        // [R, n] of the allowed actions
};

// The dueling network over the n allowed actions, with its parameters in one flat tensor and
// gradients written out by hand: the shape is fixed, and autograd would cost more than the small
// matrix products. The two streams' hidden layers are one product, and Q = V + A_a − mean over all
// 45 of A is linear in them, so it is folded into one head: row a is [v | A_a − mean A]. Not
// thread-safe.
class DuelingNetwork {
 public:
  DuelingNetwork(const kernels::Architecture& architecture, std::vector<uint8_t> actions,
                 const at::Device& device);

  int64_t parameter_count() const { return count_; }
  at::Tensor& parameters() { return parameters_; }

  // Between the contract's layout and the one in here.
  void Import(const kernels::Parameters& from);
  // The same for any vector with an entry a parameter, such as an optimiser's moment.
  at::Tensor Flatten(const kernels::Parameters& from) const;
  kernels::Parameters Unflatten(const at::Tensor& flat, kernels::WeightsKind kind) const;
  kernels::Parameters Export(kernels::WeightsKind kind) const;

  // Folds the head from the parameters; after every change of them, before Forward.
  void FoldHead();
  // Q of `states` [R, S] into `to`.
  void Forward(const at::Tensor& states, DuelingActivations& to);
  // Gradient of the parameters, into the flat `gradient`, from ∂loss/∂Q [B, n] of the first B rows
  // that went through Forward(states, activations). Overwrites the first B rows of nothing but
  // scratch.
  void Backward(const at::Tensor& states, const DuelingActivations& activations,
                const at::Tensor& q_gradient, at::Tensor& gradient);

 private:
  struct Part {
    int64_t offset, rows, columns;  // columns 0: a vector
  };
  at::Tensor ViewOf(const at::Tensor& flat, const Part& part) const;

  const kernels::Architecture architecture_;
  const std::vector<uint8_t> actions_;
  Part w1_, b1_, w2_, b2_, ws_, bs_, wv_, bv_, wa_, ba_;
  int64_t count_ = 0;
  at::Tensor parameters_;
  at::Tensor action_index_;             // [n] int64
  at::Tensor head_weight_, head_bias_;  // [n, HV + HA], [n]
  at::Tensor streams_gradient_, hidden2_gradient_, hidden1_gradient_, head_gradient_;  // scratch
};

}  // namespace vixen::learner
