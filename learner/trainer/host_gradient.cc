// SPDX-License-Identifier: Apache-2.0
#include "learner/trainer/host_gradient.h"

#include <algorithm>
#include <utility>

#include "kernels/env/settings.h"
#include "kernels/nn/dense.h"
#include "learner/trainer/host_layers.h"
#include "learner/trainer/matrix.h"

namespace vixen::learner {
namespace {

using Floats = kernels::AlignedFloats;

// Rows of a block at most: their activations and a layer's weights fit into a second cache of 1
// MiB.
constexpr size_t kMostBlockRows = 96;
constexpr size_t kTileRows = 6;

// What one thread works with.
struct Workspace {
  Floats hidden1, hidden2, streams;                 // [R, H1], [R, H2], [R, HV + HA]
  Floats next_hidden1, next_hidden2, next_streams;  // of the bootstrap states
  Floats q, choice;                                 // [R, n padded]
  Floats streams_gradient, hidden2_gradient, hidden1_gradient;
  Floats first_gradient;                  // [S, H1]: of the first layer, transposed
  Floats head_gradient;                   // [n, HV + HA]
  std::vector<float> head_bias_gradient;  // [n]
  std::vector<float> gradient;            // all parameters; unused by the first thread
  UpdateStatistics statistics;
  double q_sum = 0;
};

// sum[j] += Σ_i of values[i][j].
void AddColumns(const float* __restrict values, size_t rows, size_t columns,
                float* __restrict sum) {
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) sum[j] += values[i * columns + j];
  }
}

// to[k] += factor·from[k].
void AddScaled(float factor, const float* __restrict from, size_t count, float* __restrict to) {
  for (size_t k = 0; k < count; ++k) to[k] += factor * from[k];
}

// to[k] = factor·head[k], through the leaky ReLU of output `active`.
void LeakyGradient(float factor, const float* __restrict head, const float* __restrict active,
                   size_t count, float* __restrict to) {
  for (size_t k = 0; k < count; ++k) {
    // No branch: half of them would be guessed wrong.
    const auto above = static_cast<float>(active[k] > 0.0f);
    to[k] = factor * head[k] * (above + kLeakySlope * (1.0f - above));
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

struct HostGradient::State {
  explicit State(const HostGradientOptions& o)
      : options(o),
        layout(o.architecture),
        multiply(AvailableMatrixKernels().front().multiply),
        online(o.architecture, o.actions),
        target(o.architecture, o.actions),
        workspaces(static_cast<size_t>(o.threads)) {
    const size_t share = (o.batch_size + workspaces.size() - 1) / workspaces.size();
    const size_t blocks = (share + kMostBlockRows - 1) / kMostBlockRows;
    block_rows = (share + blocks - 1) / blocks;
    block_rows = (block_rows + kTileRows - 1) / kTileRows * kTileRows;
    const size_t padded = online.padded_actions();
    for (Workspace& w : workspaces) {
      for (auto [floats, width] : {std::pair(&w.hidden1, layout.h1),
                                   {&w.hidden2, layout.h2},
                                   {&w.streams, layout.hs},
                                   {&w.next_hidden1, layout.h1},
                                   {&w.next_hidden2, layout.h2},
                                   {&w.next_streams, layout.hs},
                                   {&w.q, padded},
                                   {&w.choice, padded},
                                   {&w.streams_gradient, layout.hs},
                                   {&w.hidden2_gradient, layout.h2},
                                   {&w.hidden1_gradient, layout.h1}}) {
        floats->resize(block_rows * width);
      }
      w.first_gradient.resize(layout.state * layout.h1);
      w.head_gradient.resize(o.actions.size() * layout.hs);
      w.head_bias_gradient.resize(o.actions.size());
      if (&w != &workspaces.front()) w.gradient.resize(layout.count);
    }
  }

  // The layers before the head. `streams_from`: the first column of the streams that is needed.
  void Forward(const HostLayers& network, const float* states, size_t rows, size_t streams_from,
               float* hidden1, float* hidden2, float* streams) const;
  // a*'s Q by the target network, or 0 where the discount selects the reward alone.
  void Bootstrap(const Minibatch& batch, size_t first, size_t rows, Workspace& w,
                 std::vector<double>& value) const;
  void Block(const Minibatch& batch, std::span<const uint32_t> column, size_t first, size_t rows,
             Workspace& w, float* gradient, std::span<float> abs_td,
             std::span<float> taken_q) const;
  void Backward(const float* states, size_t rows, Workspace& w, float* gradient) const;
  void Share(const Minibatch& batch, std::span<const uint32_t> column, size_t thread,
             float* gradient, std::span<float> abs_td, std::span<float> taken_q);
  void UnfoldHead(float* gradient);

  const HostGradientOptions options;
  const HostLayout layout;
  void (*const multiply)(const MatrixProduct&);
  HostLayers online, target;
  size_t block_rows = 0;
  std::vector<Workspace> workspaces;
};

void HostGradient::State::Forward(const HostLayers& network, const float* states, size_t rows,
                                  size_t streams_from, float* hidden1, float* hidden2,
                                  float* streams) const {
  const HostLayout& l = layout;
  const auto layer = [&](const float* in, size_t width, const float* weight, const float* bias,
                         size_t outputs, size_t from, float* out) {
    multiply({.a = in,
              .a_row = width,
              .b = weight + from,
              .b_row = outputs,
              .c = out + from,
              .c_row = outputs,
              .rows = rows,
              .columns = outputs - from,
              .inner = width,
              .bias = bias + from,
              .leaky = true});
  };
  layer(states, l.state, network.first.data(), network.flat + l.b1, l.h1, 0, hidden1);
  layer(hidden1, l.h1, network.second.data(), network.flat + l.b2, l.h2, 0, hidden2);
  layer(hidden2, l.h2, network.streams.data(), network.flat + l.bs, l.hs, streams_from, streams);
}

void HostGradient::State::Bootstrap(const Minibatch& batch, size_t first, size_t rows, Workspace& w,
                                    std::vector<double>& value) const {
  const HostLayout& l = layout;
  const size_t n = options.actions.size(), padded = online.padded_actions();
  const float* states = batch.states.data() + (options.batch_size + first) * l.state;
  if (options.double_dqn) {
    // Q and the advantages have their maximum at the same action.
    Forward(online, states, rows, l.hv, w.next_hidden1.data(), w.next_hidden2.data(),
            w.next_streams.data());
    multiply({.a = w.next_streams.data() + l.hv,
              .a_row = l.hs,
              .b = online.advantage.data(),
              .b_row = padded,
              .c = w.choice.data(),
              .c_row = padded,
              .rows = rows,
              .columns = padded,
              .inner = l.ha,
              .bias = online.advantage_bias.data()});
  }
  Forward(target, states, rows, 0, w.next_hidden1.data(), w.next_hidden2.data(),
          w.next_streams.data());
  if (!options.double_dqn) {
    multiply({.a = w.next_streams.data(),
              .a_row = l.hs,
              .b = target.head_columns.data(),
              .b_row = padded,
              .c = w.choice.data(),
              .c_row = padded,
              .rows = rows,
              .columns = padded,
              .inner = l.hs,
              .bias = target.head_bias.data()});
  }
  for (size_t i = 0; i < rows; ++i) {
    value[i] = 0;
    if (batch.discount[first + i] == 0.0f) continue;
    const float* choice = w.choice.data() + i * padded;
    const auto best = static_cast<size_t>(std::max_element(choice, choice + n) - choice);
    value[i] = options.double_dqn
                   ? Dot(target.head.data() + best * l.hs, w.next_streams.data() + i * l.hs, l.hs) +
                         target.head_bias[best]
                   : choice[best];
  }
}

void HostGradient::State::Block(const Minibatch& batch, std::span<const uint32_t> column,
                                size_t first, size_t rows, Workspace& w, float* gradient,
                                std::span<float> abs_td, std::span<float> taken_q) const {
  const HostLayout& l = layout;
  const size_t n = options.actions.size(), padded = online.padded_actions();
  std::vector<double> bootstrap(rows);
  Bootstrap(batch, first, rows, w, bootstrap);
  const float* states = batch.states.data() + first * l.state;
  Forward(online, states, rows, 0, w.hidden1.data(), w.hidden2.data(), w.streams.data());
  multiply({.a = w.streams.data(),
            .a_row = l.hs,
            .b = online.head_columns.data(),
            .b_row = padded,
            .c = w.q.data(),
            .c_row = padded,
            .rows = rows,
            .columns = padded,
            .inner = l.hs,
            .bias = online.head_bias.data()});
  for (size_t i = 0; i < rows; ++i) {
    const float* q = w.q.data() + i * padded;
    float q_sum = 0, q_max = q[0];
    for (size_t a = 0; a < n; ++a) {
      q_sum += q[a];
      q_max = std::max(q_max, q[a]);
    }
    w.q_sum += q_sum;
    w.statistics.max_q = std::max<double>(w.statistics.max_q, q_max);
    const size_t row = first + i, taken = column[row];
    const TdLossRow loss = LossOfRow({.q = q[taken],
                                      .reward = batch.reward[row],
                                      .discount = batch.discount[row],
                                      .bootstrap = bootstrap[i],
                                      .weight = batch.weight[row],
                                      .huber_delta = options.huber_delta,
                                      .rows = static_cast<double>(options.batch_size)},
                                     w.statistics);
    abs_td[row] = loss.abs_td;
    taken_q[row] = q[taken];
    w.head_bias_gradient[taken] += loss.gradient;
    const float* streams = w.streams.data() + i * l.hs;
    AddScaled(loss.gradient, streams, l.hs, w.head_gradient.data() + taken * l.hs);
    LeakyGradient(loss.gradient, online.head.data() + taken * l.hs, streams, l.hs,
                  w.streams_gradient.data() + i * l.hs);
  }
  Backward(states, rows, w, gradient);
}

void HostGradient::State::Backward(const float* states, size_t rows, Workspace& w,
                                   float* gradient) const {
  const HostLayout& l = layout;
  // ∂/∂weight [outputs, inputs] of a layer, added to what is there.
  const auto weights = [&](const float* out, size_t outputs, const float* in, size_t inputs,
                           float* to) {
    multiply({.a = out,
              .a_row = 1,
              .a_step = outputs,
              .b = in,
              .b_row = inputs,
              .c = to,
              .c_row = inputs,
              .rows = outputs,
              .columns = inputs,
              .inner = rows,
              .accumulate = true});
  };
  const auto inputs = [&](const float* out, size_t outputs, const float* weight, size_t inputs,
                          const float* active, float* to) {
    multiply({.a = out,
              .a_row = outputs,
              .b = weight,
              .b_row = inputs,
              .c = to,
              .c_row = inputs,
              .rows = rows,
              .columns = inputs,
              .inner = outputs,
              .active = active});
  };
  const float* flat = online.flat;
  weights(w.streams_gradient.data(), l.hs, w.hidden2.data(), l.h2, gradient + l.ws);
  AddColumns(w.streams_gradient.data(), rows, l.hs, gradient + l.bs);
  inputs(w.streams_gradient.data(), l.hs, flat + l.ws, l.h2, w.hidden2.data(),
         w.hidden2_gradient.data());
  weights(w.hidden2_gradient.data(), l.h2, w.hidden1.data(), l.h1, gradient + l.w2);
  AddColumns(w.hidden2_gradient.data(), rows, l.h2, gradient + l.b2);
  inputs(w.hidden2_gradient.data(), l.h2, flat + l.w2, l.h1, w.hidden1.data(),
         w.hidden1_gradient.data());
  // The state's width is no multiple of a register's lanes, the hidden layer's is.
  weights(states, l.state, w.hidden1_gradient.data(), l.h1, w.first_gradient.data());
  AddColumns(w.hidden1_gradient.data(), rows, l.h1, gradient + l.b1);
}

void HostGradient::State::Share(const Minibatch& batch, std::span<const uint32_t> column,
                                size_t thread, float* gradient, std::span<float> abs_td,
                                std::span<float> taken_q) {
  Workspace& w = workspaces[thread];
  float* const own = thread == 0 ? gradient : w.gradient.data();
  std::fill_n(own, layout.count, 0.0f);
  std::fill(w.first_gradient.begin(), w.first_gradient.end(), 0.0f);
  std::fill(w.head_gradient.begin(), w.head_gradient.end(), 0.0f);
  std::fill(w.head_bias_gradient.begin(), w.head_bias_gradient.end(), 0.0f);
  w.statistics = {};
  w.statistics.max_q = -3.4e38;
  w.q_sum = 0;
  const size_t threads = workspaces.size(), rows = options.batch_size;
  const size_t end = rows * (thread + 1) / threads;
  for (size_t first = rows * thread / threads; first < end; first += block_rows) {
    Block(batch, column, first, std::min(block_rows, end - first), w, own, abs_td, taken_q);
  }
  TransposeInto(w.first_gradient.data(), layout.state, layout.h1, own + layout.w1);
}

// Row a of the head is [v | A_a − mean A].
void HostGradient::State::UnfoldHead(float* gradient) {
  const HostLayout& l = layout;
  const Workspace& w = workspaces.front();
  constexpr float kShare = 1.0f / kernels::kActions;
  for (size_t i = 0; i < options.actions.size(); ++i) {
    const float* head = w.head_gradient.data() + i * l.hs;
    const float bias = w.head_bias_gradient[i];
    for (size_t k = 0; k < l.hv; ++k) gradient[l.wv + k] += head[k];
    gradient[l.bv] += bias;
    for (size_t a = 0; a < kernels::kActions; ++a) {
      const float part = (a == options.actions[i] ? 1.0f : 0.0f) - kShare;
      float* const row = gradient + l.wa + a * l.ha;
      for (size_t k = 0; k < l.ha; ++k) row[k] += part * head[l.hv + k];
      gradient[l.ba + a] += part * bias;
    }
  }
}

HostGradient::HostGradient(const HostGradientOptions& options)
    : state_(std::make_unique<State>(options)) {}
HostGradient::~HostGradient() = default;

UpdateStatistics HostGradient::Compute(const float* online, const float* target,
                                       const Minibatch& batch, std::span<const uint32_t> column,
                                       float* gradient, std::span<float> abs_td,
                                       std::span<float> taken_q) {
  State& s = *state_;
  const auto threads = static_cast<int>(s.workspaces.size());
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static, 1)
    for (int network = 0; network < 2; ++network) {
      (network == 0 ? s.online : s.target).Prepare(network == 0 ? online : target);
    }
#pragma omp for schedule(static, 1)
    for (int thread = 0; thread < threads; ++thread) {
      s.Share(batch, column, static_cast<size_t>(thread), gradient, abs_td, taken_q);
    }
    if (threads > 1) {
#pragma omp for schedule(static)
      for (size_t i = 0; i < s.layout.count; ++i) {
        for (int other = 1; other < threads; ++other)
          gradient[i] += s.workspaces[static_cast<size_t>(other)].gradient[i];
      }
    }
  }
  Workspace& sum = s.workspaces.front();
  for (size_t other = 1; other < s.workspaces.size(); ++other) {
    const Workspace& w = s.workspaces[other];
    for (size_t i = 0; i < sum.head_gradient.size(); ++i)
      sum.head_gradient[i] += w.head_gradient[i];
    for (size_t i = 0; i < sum.head_bias_gradient.size(); ++i)
      sum.head_bias_gradient[i] += w.head_bias_gradient[i];
    sum.statistics.loss += w.statistics.loss;
    sum.statistics.mean_abs_td += w.statistics.mean_abs_td;
    sum.statistics.clipped_rows += w.statistics.clipped_rows;
    sum.statistics.max_q = std::max(sum.statistics.max_q, w.statistics.max_q);
    sum.q_sum += w.q_sum;
  }
  s.UnfoldHead(gradient);
  UpdateStatistics statistics = sum.statistics;
  const double rows = s.options.batch_size;
  statistics.loss /= rows;
  statistics.mean_abs_td /= rows;
  statistics.clipped_rows /= rows;
  statistics.mean_q = sum.q_sum / (rows * static_cast<double>(s.options.actions.size()));
  return statistics;
}

}  // namespace vixen::learner
