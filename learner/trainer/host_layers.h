// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/nn/dense.h"
#include "kernels/nn/network.h"

namespace vixen::learner {

// Where the parameters lie in the flat vector of DuelingNetwork, in floats: weights [outputs,
// inputs]; `ws` and `bs` are the two streams' hidden layers, the value's rows first.
struct HostLayout {
  explicit HostLayout(const kernels::Architecture& architecture);

  size_t state, h1, h2, hv, ha, hs;
  size_t w1, b1, w2, b2, ws, bs, wv, bv, wa, ba, count;
};

// One network as HostGradient reads it.
struct HostLayers {
  HostLayers(const kernels::Architecture& architecture, const std::vector<uint8_t>& actions);

  // From the flat parameters, which stay the caller's and are read until the next call.
  void Prepare(const float* parameters);
  // Of the allowed actions, to kernels::kColumnMultiple.
  size_t padded_actions() const { return padded_; }

  const float* flat = nullptr;
  // Weights [inputs, outputs] of the hidden layers.
  kernels::AlignedFloats first, second, streams;
  // The head, Q = head·streams + head_bias: row a is [v | A_a − mean A], [n, HV + HA]; the same
  // as columns, [HV + HA, n padded]; the bias to the padded width.
  kernels::AlignedFloats head, head_columns, head_bias;
  // The advantages alone: [HA, n padded] and [n padded].
  kernels::AlignedFloats advantage, advantage_bias;

 private:
  const HostLayout layout_;
  const std::vector<uint8_t> actions_;
  const size_t padded_;
  std::vector<float> mean_;  // [HA]
};

// `to` [columns, rows] from `from` [rows, columns].
void TransposeInto(const float* from, size_t rows, size_t columns, float* to);

}  // namespace vixen::learner
