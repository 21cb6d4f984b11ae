// SPDX-License-Identifier: Apache-2.0
#include "learner/trainer/host_block.h"

#include <algorithm>
#include <utility>

namespace vixen::learner {
namespace {

// to[k] = factor·head[k], through the leaky ReLU of output `active`.
void LeakyGradient(float factor, const float* __restrict head, const float* __restrict active,
                   size_t count, float* __restrict to) {
  for (size_t k = 0; k < count; ++k) {
    // No branch: half of them would be guessed wrong.
    const auto above = static_cast<float>(active[k] > 0.0f);
    to[k] = factor * head[k] * (above + kernels::kLeakySlope * (1.0f - above));
  }
}

float Dot(const float* __restrict a, const float* __restrict b, size_t count) {
  // Eight chains, which fit into registers.
  float sum[8] = {};
  for (size_t k = 0; k < count; k += 8) {
    for (size_t s = 0; s < 8; ++s) sum[s] += a[k + s] * b[k + s];
  }
  float total = 0;
  for (const float part : sum) total += part;
  return total;
}

}  // namespace

HostBlock::HostBlock(const HostGradientOptions& options, const HostLayout& layout,
                     size_t padded_actions, size_t most_rows)
    : options_(options),
      layout_(layout),
      multiply_(kernels::AvailableMatrixKernels().front().multiply),
      bootstrap_(most_rows),
      loss_gradient_(most_rows) {
  for (auto [floats, width] : {std::pair(&hidden1_, layout.h1),
                               {&hidden2_, layout.h2},
                               {&streams_, layout.hs},
                               {&next_hidden1_, layout.h1},
                               {&next_hidden2_, layout.h2},
                               {&next_streams_, layout.hs},
                               {&q_, padded_actions},
                               {&choice_, padded_actions},
                               {&streams_gradient_, layout.hs},
                               {&hidden2_gradient_, layout.h2},
                               {&hidden1_gradient_, layout.h1}}) {
    floats->resize(most_rows * width);
  }
}

void HostBlock::Run(const HostPass& pass, size_t first, size_t rows, HostRows& seen,
                    std::span<float> abs_td, std::span<float> taken_q) {
  first_ = first;
  rows_ = rows;
  if (rows == 0) return;
  Bootstrap(pass);
  const float* states = pass.batch.states.data() + first_ * layout_.state;
  Forward(pass.online, states, 0, hidden1_, hidden2_, streams_);
  Loss(pass, seen, abs_td, taken_q);
  Backward(pass.online);
}

void HostBlock::Forward(const HostLayers& network, const float* states, size_t streams_from,
                        Floats& hidden1, Floats& hidden2, Floats& streams) const {
  const HostLayout& l = layout_;
  const auto layer = [&](const float* in, size_t width, const float* weight, const float* bias,
                         size_t outputs, size_t from, float* out) {
    multiply_({.a = in,
               .a_row = width,
               .b = weight + from,
               .b_row = outputs,
               .c = out + from,
               .c_row = outputs,
               .rows = rows_,
               .columns = outputs - from,
               .inner = width,
               .bias = bias + from,
               .leaky = true});
  };
  layer(states, l.state, network.first.data(), network.flat + l.b1, l.h1, 0, hidden1.data());
  layer(hidden1.data(), l.h1, network.second.data(), network.flat + l.b2, l.h2, 0, hidden2.data());
  layer(hidden2.data(), l.h2, network.streams.data(), network.flat + l.bs, l.hs, streams_from,
        streams.data());
}

void HostBlock::Bootstrap(const HostPass& pass) {
  const HostLayout& l = layout_;
  const size_t n = options_.actions.size(), padded = pass.online.padded_actions();
  const float* states = pass.batch.states.data() + (options_.batch_size + first_) * l.state;
  const auto choose = [&](const float* in, size_t width, const float* head, const float* bias) {
    multiply_({.a = in,
               .a_row = l.hs,
               .b = head,
               .b_row = padded,
               .c = choice_.data(),
               .c_row = padded,
               .rows = rows_,
               .columns = padded,
               .inner = width,
               .bias = bias});
  };
  if (options_.double_dqn) {
    // Q and the advantages have their maximum at the same action.
    Forward(pass.online, states, l.hv, next_hidden1_, next_hidden2_, next_streams_);
    choose(next_streams_.data() + l.hv, l.ha, pass.online.advantage.data(),
           pass.online.advantage_bias.data());
  }
  const HostLayers& target = pass.target;
  Forward(target, states, 0, next_hidden1_, next_hidden2_, next_streams_);
  if (!options_.double_dqn) {
    choose(next_streams_.data(), l.hs, target.head_columns.data(), target.head_bias.data());
  }
  for (size_t i = 0; i < rows_; ++i) {
    bootstrap_[i] = 0;
    if (pass.batch.discount[first_ + i] == 0.0f) continue;
    const float* choice = choice_.data() + i * padded;
    const auto best = static_cast<size_t>(std::max_element(choice, choice + n) - choice);
    bootstrap_[i] = options_.double_dqn ? Dot(target.head.data() + best * l.hs,
                                              next_streams_.data() + i * l.hs, l.hs) +
                                              target.head_bias[best]
                                        : choice[best];
  }
}

void HostBlock::Loss(const HostPass& pass, HostRows& seen, std::span<float> abs_td,
                     std::span<float> taken_q) {
  const HostLayout& l = layout_;
  const HostLayers& online = pass.online;
  const size_t n = options_.actions.size(), padded = online.padded_actions();
  multiply_({.a = streams_.data(),
             .a_row = l.hs,
             .b = online.head_columns.data(),
             .b_row = padded,
             .c = q_.data(),
             .c_row = padded,
             .rows = rows_,
             .columns = padded,
             .inner = l.hs,
             .bias = online.head_bias.data()});
  UpdateStatistics unused;  // the sums are made of all rows, in their order
  for (size_t i = 0; i < rows_; ++i) {
    const float* q = q_.data() + i * padded;
    const size_t row = first_ + i, taken = pass.column[row];
    seen.q_sum[row] = 0;
    seen.q_max[row] = q[0];
    for (size_t a = 0; a < n; ++a) {
      seen.q_sum[row] += q[a];
      seen.q_max[row] = std::max(seen.q_max[row], q[a]);
    }
    seen.loss[row] = {.q = q[taken],
                      .reward = pass.batch.reward[row],
                      .discount = pass.batch.discount[row],
                      .bootstrap = bootstrap_[i],
                      .weight = pass.batch.weight[row],
                      .huber_delta = options_.huber_delta,
                      .rows = static_cast<double>(options_.batch_size)};
    const TdLossRow loss = LossOfRow(seen.loss[row], unused);
    abs_td[row] = loss.abs_td;
    taken_q[row] = q[taken];
    loss_gradient_[i] = loss.gradient;
    LeakyGradient(loss.gradient, online.head.data() + taken * l.hs, streams_.data() + i * l.hs,
                  l.hs, streams_gradient_.data() + i * l.hs);
  }
}

void HostBlock::Backward(const HostLayers& online) {
  const HostLayout& l = layout_;
  const auto inputs = [&](const Floats& out, size_t outputs, const float* weight, size_t inputs,
                          const Floats& active, Floats& to) {
    multiply_({.a = out.data(),
               .a_row = outputs,
               .b = weight,
               .b_row = inputs,
               .c = to.data(),
               .c_row = inputs,
               .rows = rows_,
               .columns = inputs,
               .inner = outputs,
               .active = active.data()});
  };
  inputs(streams_gradient_, l.hs, online.flat + l.ws, l.h2, hidden2_, hidden2_gradient_);
  inputs(hidden2_gradient_, l.h2, online.flat + l.w2, l.h1, hidden1_, hidden1_gradient_);
}

}  // namespace vixen::learner
