// SPDX-License-Identifier: Apache-2.0
// The parameters' gradient from a block's activations and the gradients by them.
#include <algorithm>

#include "learner/trainer/host_block.h"

namespace vixen::learner {
namespace {

// Of `count` outputs those of one part: whole tiles of the products.
struct Outputs {
  Outputs(size_t count, size_t part, size_t parts) {
    const size_t tiles = (count + kernels::kTileRows - 1) / kernels::kTileRows;
    begin = std::min(count, tiles * part / parts * kernels::kTileRows);
    end = std::min(count, tiles * (part + 1) / parts * kernels::kTileRows);
  }
  size_t size() const { return end - begin; }

  size_t begin, end;
};

// sum[j] += Σ_i of values[i][j], j of the outputs alone.
void AddColumns(const float* __restrict values, size_t rows, size_t columns, Outputs outputs,
                float* __restrict sum) {
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = outputs.begin; j < outputs.end; ++j) sum[j] += values[i * columns + j];
  }
}

// to[k] += factor·from[k].
void AddScaled(float factor, const float* __restrict from, size_t count, float* __restrict to) {
  for (size_t k = 0; k < count; ++k) to[k] += factor * from[k];
}

}  // namespace

void HostBlock::AddTo(const HostPass& pass, size_t part, size_t parts, HostSums& sums) const {
  if (rows_ == 0) return;
  const HostLayout& l = layout_;
  // ∂/∂weight [outputs, inputs] of a layer.
  const auto weights = [&](const float* out, size_t outputs, const float* in, size_t inputs,
                           float* to) {
    const Outputs own(outputs, part, parts);
    multiply_({.a = out + own.begin,
               .a_row = 1,
               .a_step = outputs,
               .b = in,
               .b_row = inputs,
               .c = to + own.begin * inputs,
               .c_row = inputs,
               .rows = own.size(),
               .columns = inputs,
               .inner = rows_,
               .accumulate = true});
  };
  const auto bias = [&](const Floats& out, size_t outputs, float* to) {
    AddColumns(out.data(), rows_, outputs, Outputs(outputs, part, parts), to);
  };
  const Outputs own(l.hs, part, parts);
  for (size_t i = 0; i < rows_; ++i) {
    const size_t taken = pass.column[first_ + i];
    AddScaled(loss_gradient_[i], streams_.data() + i * l.hs + own.begin, own.size(),
              sums.head.data() + taken * l.hs + own.begin);
    if (part == 0) sums.head_bias[taken] += loss_gradient_[i];
  }
  weights(streams_gradient_.data(), l.hs, hidden2_.data(), l.h2, sums.flat + l.ws);
  bias(streams_gradient_, l.hs, sums.flat + l.bs);
  weights(hidden2_gradient_.data(), l.h2, hidden1_.data(), l.h1, sums.flat + l.w2);
  bias(hidden2_gradient_, l.h2, sums.flat + l.b2);
  // The state's width is no multiple of a register's lanes, the hidden layer's is.
  weights(pass.batch.states.data() + first_ * l.state, l.state, hidden1_gradient_.data(), l.h1,
          sums.first.data());
  bias(hidden1_gradient_, l.h1, sums.flat + l.b1);
}

}  // namespace vixen::learner
