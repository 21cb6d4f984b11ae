// SPDX-License-Identifier: Apache-2.0
#include "learner/curiosity/curiosity_trainer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/leaky_relu_backward.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>

#include <cmath>
#include <exception>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "learner/trainer/flat_optimizer.h"

namespace vixen::learner {
namespace {

constexpr double kSlope = 0.01;

absl::Status TorchError(const std::exception& error) {
  const std::string text = error.what();
  return absl::InternalError(absl::StrCat("LibTorch: ", text.substr(0, text.find('\n'))));
}

}  // namespace

struct CuriosityTrainer::State {
  State(const CuriosityOptions& o, const kernels::Parameters& weights)
      : options(o),
        device(o.device),
        layers(kernels::LayersOf(o.architecture, kernels::WeightsKind::kCuriosity)),
        batch(o.batch_size, o.architecture),
        optimizer({.learning_rate = o.learning_rate, .epsilon = 1e-8},
                  static_cast<int64_t>(weights.values.size()), device) {
    std::vector<float> copy = weights.values;
    parameters = at::from_blob(copy.data(), {static_cast<int64_t>(copy.size())}, at::kFloat)
                     .clone()
                     .to(device);
    const int64_t width = batch.embedding + kernels::kCategories;
    input_host = at::from_blob(batch.input.data(), {batch.rows, width}, at::kFloat);
    target_host = at::from_blob(batch.target.data(), {batch.rows, batch.embedding}, at::kFloat);
  }

  at::Tensor Weight(const at::Tensor& flat, size_t layer) const {
    const kernels::LayerLayout& l = layers[layer];
    return flat.narrow(0, static_cast<int64_t>(l.weight_offset), int64_t{l.outputs} * l.inputs)
        .view({l.outputs, l.inputs});
  }
  at::Tensor Bias(const at::Tensor& flat, size_t layer) const {
    const kernels::LayerLayout& l = layers[layer];
    return flat.narrow(0, static_cast<int64_t>(l.bias_offset), l.outputs);
  }

  const CuriosityOptions options;
  const at::Device device;
  const std::vector<kernels::LayerLayout> layers;
  CuriosityMinibatch batch;
  FlatOptimizer optimizer;
  at::Tensor parameters;               // flat, in the contract's order
  at::Tensor input_host, target_host;  // views of the minibatch
};

CuriosityTrainer::CuriosityTrainer(std::unique_ptr<State> state) : state_(std::move(state)) {}
CuriosityTrainer::~CuriosityTrainer() = default;

absl::StatusOr<std::unique_ptr<CuriosityTrainer>> CuriosityTrainer::Create(
    const CuriosityOptions& options, const kernels::Parameters& weights) {
  const size_t expected =
      kernels::ParameterCount(options.architecture, kernels::WeightsKind::kCuriosity);
  if (weights.values.size() != expected) {
    return absl::InvalidArgumentError(
        absl::StrFormat("curiosity weights hold %d numbers, architecture %s needs %d",
                        weights.values.size(), options.architecture.Describe(), expected));
  }
  try {
    at::NoGradGuard no_grad;
    return std::unique_ptr<CuriosityTrainer>(
        new CuriosityTrainer(std::make_unique<State>(options, weights)));
  } catch (const std::exception& error) {
    return TorchError(error);
  }
}

CuriosityMinibatch& CuriosityTrainer::minibatch() { return state_->batch; }

absl::StatusOr<double> CuriosityTrainer::Update() {
  State& s = *state_;
  try {
    at::NoGradGuard no_grad;
    const at::Tensor input = s.input_host.to(s.device);
    const at::Tensor weight1 = s.Weight(s.parameters, 1);
    at::Tensor hidden = at::addmm(s.Bias(s.parameters, 0), input, s.Weight(s.parameters, 0).t());
    at::leaky_relu_(hidden, kSlope);
    at::Tensor error = at::addmm(s.Bias(s.parameters, 1), hidden, weight1.t());
    error.sub_(s.target_host.to(s.device));
    const auto entries = static_cast<double>(error.numel());
    const at::Tensor flat = error.view({-1});
    const double loss = at::dot(flat, flat).item<double>() / entries;
    if (!std::isfinite(loss)) {
      return absl::DataLossError(absl::StrFormat("curiosity loss %g is not finite", loss));
    }
    error.mul_(2.0 / entries);
    at::Tensor& gradient = s.optimizer.gradient();
    at::Tensor weight_gradient = s.Weight(gradient, 1), bias_gradient = s.Bias(gradient, 1);
    at::mm_out(weight_gradient, error.t(), hidden);
    at::sum_out(bias_gradient, error, 0);
    at::Tensor hidden_gradient = at::mm(error, weight1);
    at::leaky_relu_backward_out(hidden_gradient, hidden_gradient, hidden, kSlope, true);
    weight_gradient = s.Weight(gradient, 0);
    bias_gradient = s.Bias(gradient, 0);
    at::mm_out(weight_gradient, hidden_gradient.t(), input);
    at::sum_out(bias_gradient, hidden_gradient, 0);
    const double norm = s.optimizer.Step(s.parameters);
    if (!std::isfinite(norm)) {
      return absl::DataLossError(absl::StrFormat("curiosity gradient norm %g is not finite", norm));
    }
    return loss;
  } catch (const std::exception& error) {
    return TorchError(error);
  }
}

kernels::Parameters CuriosityTrainer::Export() const {
  kernels::Parameters out;
  out.architecture = state_->options.architecture;
  out.kind = kernels::WeightsKind::kCuriosity;
  const at::Tensor host = state_->parameters.to(at::kCPU);
  out.values.assign(host.data_ptr<float>(), host.data_ptr<float>() + host.numel());
  return out;
}

}  // namespace vixen::learner
