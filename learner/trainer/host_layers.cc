// SPDX-License-Identifier: Apache-2.0
#include "learner/trainer/host_layers.h"

#include <algorithm>

#include "kernels/env/settings.h"
#include "kernels/nn/matrix.h"

namespace vixen::learner {

HostLayout::HostLayout(const kernels::Architecture& architecture)
    : state(architecture.state()),
      h1(architecture.hidden1),
      h2(architecture.hidden2),
      hv(architecture.value_hidden),
      ha(architecture.advantage_hidden),
      hs(hv + ha),
      w1(0),
      b1(w1 + h1 * state),
      w2(b1 + h1),
      b2(w2 + h2 * h1),
      ws(b2 + h2),
      bs(ws + hs * h2),
      wv(bs + hs),
      bv(wv + hv),
      wa(bv + 1),
      ba(wa + kernels::kActions * ha),
      count(ba + kernels::kActions) {}

HostLayers::HostLayers(const kernels::Architecture& architecture,
                       const std::vector<uint8_t>& actions)
    : layout_(architecture),
      actions_(actions),
      padded_((actions.size() + kernels::kColumnMultiple - 1) / kernels::kColumnMultiple *
              kernels::kColumnMultiple) {
  const HostLayout& l = layout_;
  first.resize(l.state * l.h1);
  second.resize(l.h1 * l.h2);
  streams.resize(l.h2 * l.hs);
  head.resize(actions_.size() * l.hs);
  head_columns.resize(l.hs * padded_);
  head_bias.resize(padded_);
  advantage.resize(l.ha * padded_);
  advantage_bias.resize(padded_);
  mean_.resize(l.ha);
}

void HostLayers::Prepare(const float* parameters) {
  const HostLayout& l = layout_;
  flat = parameters;
  TransposeInto(flat + l.w1, l.h1, l.state, first.data());
  TransposeInto(flat + l.w2, l.h2, l.h1, second.data());
  TransposeInto(flat + l.ws, l.hs, l.h2, streams.data());

  constexpr float kShare = 1.0f / kernels::kActions;
  std::fill(mean_.begin(), mean_.end(), 0.0f);
  float mean_bias = 0;
  for (size_t a = 0; a < kernels::kActions; ++a) {
    for (size_t k = 0; k < l.ha; ++k) mean_[k] += kShare * flat[l.wa + a * l.ha + k];
    mean_bias += kShare * flat[l.ba + a];
  }
  for (size_t i = 0; i < actions_.size(); ++i) {
    const float* const row = flat + l.wa + actions_[i] * l.ha;
    float* const to = head.data() + i * l.hs;
    std::copy_n(flat + l.wv, l.hv, to);
    for (size_t k = 0; k < l.ha; ++k) {
      to[l.hv + k] = row[k] - mean_[k];
      advantage[k * padded_ + i] = row[k];
    }
    for (size_t k = 0; k < l.hs; ++k) head_columns[k * padded_ + i] = to[k];
    head_bias[i] = flat[l.ba + actions_[i]] - mean_bias + flat[l.bv];
    advantage_bias[i] = flat[l.ba + actions_[i]];
  }
}

void TransposeInto(const float* from, size_t rows, size_t columns, float* to) {
  constexpr size_t kTile = 16;  // a cache line of each row
  for (size_t i = 0; i < rows; i += kTile) {
    for (size_t j = 0; j < columns; j += kTile) {
      for (size_t y = i; y < std::min(i + kTile, rows); ++y) {
        for (size_t x = j; x < std::min(j + kTile, columns); ++x) {
          to[x * rows + y] = from[y * columns + x];
        }
      }
    }
  }
}

}  // namespace vixen::learner
