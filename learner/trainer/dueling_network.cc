// SPDX-License-Identifier: Apache-2.0
#include "learner/trainer/dueling_network.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/leaky_relu_backward.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "kernels/env/settings.h"

namespace vixen::learner {
namespace {

constexpr double kSlope = 0.01;

at::TensorOptions Floats(const at::Device& device) {
  return at::TensorOptions().dtype(at::kFloat).device(device);
}

// out = lrelu(input·weightᵀ + bias).
void Layer(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
           at::Tensor& out) {
  at::addmm_out(out, bias, input, weight.t());
  at::leaky_relu_(out, kSlope);
}

// From ∂loss/∂output of a layer: its parameters' gradients and, unless null, ∂loss/∂(the activation
// that is its input), through that activation's leaky ReLU.
void LayerGradient(const at::Tensor& output_gradient, const at::Tensor& input,
                   const at::Tensor& weight, at::Tensor weight_gradient, at::Tensor bias_gradient,
                   at::Tensor* input_gradient) {
  at::mm_out(weight_gradient, output_gradient.t(), input);
  at::sum_out(bias_gradient, output_gradient, /*dim=*/0);
  if (input_gradient == nullptr) return;
  at::mm_out(*input_gradient, output_gradient, weight);
  at::leaky_relu_backward_out(*input_gradient, *input_gradient, input, kSlope,
                              /*self_is_result=*/true);
}

}  // namespace

DuelingActivations::DuelingActivations(const kernels::Architecture& architecture, int64_t rows,
                                       int64_t actions, const at::Device& device)
    : hidden1(at::empty({rows, architecture.hidden1}, Floats(device))),
      hidden2(at::empty({rows, architecture.hidden2}, Floats(device))),
      streams(at::empty({rows, int64_t{architecture.value_hidden} + architecture.advantage_hidden},
                        Floats(device))),
      q(at::empty({rows, actions}, Floats(device))) {}

DuelingNetwork::DuelingNetwork(const kernels::Architecture& architecture,
                               std::vector<uint8_t> actions, const at::Device& device)
    : architecture_(architecture), actions_(std::move(actions)) {
  const int64_t state = architecture.state();
  const int64_t h1 = architecture.hidden1, h2 = architecture.hidden2;
  const int64_t hv = architecture.value_hidden, ha = architecture.advantage_hidden;
  const auto place = [this](int64_t rows, int64_t columns) {
    const Part part{count_, rows, columns};
    count_ += rows * (columns == 0 ? 1 : columns);
    return part;
  };
  w1_ = place(h1, state);
  b1_ = place(h1, 0);
  w2_ = place(h2, h1);
  b2_ = place(h2, 0);
  ws_ = place(hv + ha, h2);
  bs_ = place(hv + ha, 0);
  wv_ = place(1, hv);
  bv_ = place(1, 0);
  wa_ = place(kernels::kActions, ha);
  ba_ = place(kernels::kActions, 0);

  parameters_ = at::zeros({count_}, Floats(device));
  const auto n = static_cast<int64_t>(actions_.size());
  head_weight_ = at::empty({n, hv + ha}, Floats(device));
  head_bias_ = at::empty({n}, Floats(device));
  head_gradient_ = at::empty({n, hv + ha}, Floats(device));
  std::vector<int64_t> index(actions_.begin(), actions_.end());
  action_index_ = at::from_blob(index.data(), {n}, at::kLong).clone().to(device);
}

at::Tensor DuelingNetwork::ViewOf(const at::Tensor& flat, const Part& part) const {
  if (part.columns == 0) return flat.narrow(0, part.offset, part.rows);
  return flat.narrow(0, part.offset, part.rows * part.columns).view({part.rows, part.columns});
}

at::Tensor DuelingNetwork::Flatten(const kernels::Parameters& from) const {
  const std::vector<kernels::LayerLayout> layers =
      kernels::LayersOf(architecture_, kernels::WeightsKind::kOnline);
  at::Tensor flat = at::empty({count_}, at::kFloat);
  float* to = flat.data_ptr<float>();
  const auto copy = [&](size_t layer, int64_t weight_at, int64_t bias_at) {
    const kernels::LayerLayout& place = layers[layer];
    std::copy_n(from.values.data() + place.weight_offset, size_t{place.inputs} * place.outputs,
                to + weight_at);
    std::copy_n(from.values.data() + place.bias_offset, place.outputs, to + bias_at);
  };
  const int64_t hv = architecture_.value_hidden, h2 = architecture_.hidden2;
  copy(0, w1_.offset, b1_.offset);
  copy(1, w2_.offset, b2_.offset);
  copy(2, ws_.offset, bs_.offset);
  copy(3, wv_.offset, bv_.offset);
  copy(4, ws_.offset + hv * h2, bs_.offset + hv);
  copy(5, wa_.offset, ba_.offset);
  return flat;
}

void DuelingNetwork::Import(const kernels::Parameters& from) {
  parameters_.copy_(Flatten(from));
  FoldHead();
}

kernels::Parameters DuelingNetwork::Export(kernels::WeightsKind kind) const {
  return Unflatten(parameters_, kind);
}

kernels::Parameters DuelingNetwork::Unflatten(const at::Tensor& values,
                                              kernels::WeightsKind kind) const {
  const std::vector<kernels::LayerLayout> layers = kernels::LayersOf(architecture_, kind);
  kernels::Parameters out;
  out.architecture = architecture_;
  out.kind = kind;
  out.values.resize(static_cast<size_t>(count_));
  const at::Tensor flat = values.to(at::kCPU);
  const float* from = flat.data_ptr<float>();
  const auto copy = [&](size_t layer, int64_t weight_at, int64_t bias_at) {
    const kernels::LayerLayout& place = layers[layer];
    std::copy_n(from + weight_at, size_t{place.inputs} * place.outputs,
                out.values.data() + place.weight_offset);
    std::copy_n(from + bias_at, place.outputs, out.values.data() + place.bias_offset);
  };
  const int64_t hv = architecture_.value_hidden, h2 = architecture_.hidden2;
  copy(0, w1_.offset, b1_.offset);
  copy(1, w2_.offset, b2_.offset);
  copy(2, ws_.offset, bs_.offset);
  copy(3, wv_.offset, bv_.offset);
  copy(4, ws_.offset + hv * h2, bs_.offset + hv);
  copy(5, wa_.offset, ba_.offset);
  return out;
}

void DuelingNetwork::FoldHead() {
  const int64_t hv = architecture_.value_hidden, ha = architecture_.advantage_hidden;
  const at::Tensor wa = ViewOf(parameters_, wa_);
  const at::Tensor ba = ViewOf(parameters_, ba_);
  head_weight_.narrow(1, 0, hv).copy_(ViewOf(parameters_, wv_).expand({head_weight_.size(0), hv}));
  head_weight_.narrow(1, hv, ha).copy_(at::sub(at::index_select(wa, 0, action_index_), wa.mean(0)));
  head_bias_.copy_(at::index_select(ba, 0, action_index_));
  head_bias_.sub_(ba.mean()).add_(ViewOf(parameters_, bv_));
}

void DuelingNetwork::Forward(const at::Tensor& states, DuelingActivations& to) {
  Layer(states, ViewOf(parameters_, w1_), ViewOf(parameters_, b1_), to.hidden1);
  Layer(to.hidden1, ViewOf(parameters_, w2_), ViewOf(parameters_, b2_), to.hidden2);
  Layer(to.hidden2, ViewOf(parameters_, ws_), ViewOf(parameters_, bs_), to.streams);
  at::addmm_out(to.q, head_bias_, to.streams, head_weight_.t());
}

void DuelingNetwork::Backward(const at::Tensor& states, const DuelingActivations& activations,
                              const at::Tensor& q_gradient, at::Tensor& gradient) {
  const int64_t rows = q_gradient.size(0);
  const at::Tensor streams = activations.streams.narrow(0, 0, rows);
  const at::Tensor hidden2 = activations.hidden2.narrow(0, 0, rows);
  const at::Tensor hidden1 = activations.hidden1.narrow(0, 0, rows);
  if (!streams_gradient_.defined() || streams_gradient_.size(0) != rows) {
    streams_gradient_ = at::empty_like(streams);
    hidden2_gradient_ = at::empty_like(hidden2);
    hidden1_gradient_ = at::empty_like(hidden1);
  }

  // Unfold the head: row a is [v | A_a − mean A].
  const int64_t hv = architecture_.value_hidden, ha = architecture_.advantage_hidden;
  at::mm_out(head_gradient_, q_gradient.t(), streams);
  const at::Tensor bias_gradient = q_gradient.sum(0);
  const at::Tensor value_rows = head_gradient_.narrow(1, 0, hv);
  const at::Tensor advantage_rows = head_gradient_.narrow(1, hv, ha);
  at::Tensor wv = ViewOf(gradient, wv_), bv = ViewOf(gradient, bv_);
  at::Tensor wa = ViewOf(gradient, wa_), ba = ViewOf(gradient, ba_);
  wv.copy_(value_rows.sum(0, /*keepdim=*/true));
  const at::Tensor bias_sum = bias_gradient.sum();
  bv.copy_(bias_sum);
  wa.copy_(advantage_rows.sum(0, /*keepdim=*/true).mul_(-1.0 / kernels::kActions).expand_as(wa));
  wa.index_add_(0, action_index_, advantage_rows);
  ba.copy_(bias_sum.mul(-1.0 / kernels::kActions).expand_as(ba));
  ba.index_add_(0, action_index_, bias_gradient);
  at::mm_out(streams_gradient_, q_gradient, head_weight_);
  at::leaky_relu_backward_out(streams_gradient_, streams_gradient_, streams, kSlope, true);

  LayerGradient(streams_gradient_, hidden2, ViewOf(parameters_, ws_), ViewOf(gradient, ws_),
                ViewOf(gradient, bs_), &hidden2_gradient_);
  LayerGradient(hidden2_gradient_, hidden1, ViewOf(parameters_, w2_), ViewOf(gradient, w2_),
                ViewOf(gradient, b2_), &hidden1_gradient_);
  LayerGradient(hidden1_gradient_, states.narrow(0, 0, rows), ViewOf(parameters_, w1_),
                ViewOf(gradient, w1_), ViewOf(gradient, b1_), nullptr);
}

}  // namespace vixen::learner
