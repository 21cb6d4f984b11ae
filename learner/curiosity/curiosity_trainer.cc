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

#include <array>
#include <cmath>
#include <exception>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "learner/trainer/flat_optimizer.h"

namespace vixen::learner {
namespace {

constexpr double kSlope = 0.01;

absl::Status TorchError(const std::exception& error) {
  const std::string text = error.what();
  return absl::InternalError(absl::StrCat("LibTorch: ", text.substr(0, text.find('\n'))));
}

absl::Status CheckSize(const kernels::Parameters& weights,
                       const kernels::Architecture& architecture) {
  const size_t expected = kernels::ParameterCount(architecture, kernels::WeightsKind::kCuriosity);
  if (weights.values.size() == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("curiosity weights hold %d numbers, architecture %s needs %d",
                      weights.values.size(), architecture.Describe(), expected));
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

  kernels::Parameters OnHost(const at::Tensor& flat) const;

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
  VIXEN_RETURN_IF_ERROR(CheckSize(weights, options.architecture));
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
    double loss = at::dot(flat, flat).item<double>() / entries;
    if (!std::isfinite(loss) && s.options.ranks == nullptr) {
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
    if (s.options.ranks != nullptr) {
      std::array<float, 1> figure = {static_cast<float>(loss)};
      VIXEN_RETURN_IF_ERROR(s.optimizer.Average(*s.options.ranks, figure));
      loss = figure[0];
    }
    const double norm = s.optimizer.Step(s.parameters);
    if (!std::isfinite(norm)) {
      return absl::DataLossError(absl::StrFormat("curiosity gradient norm %g is not finite", norm));
    }
    return loss;
  } catch (const std::exception& error) {
    return TorchError(error);
  }
}

kernels::Parameters CuriosityTrainer::State::OnHost(const at::Tensor& flat) const {
  kernels::Parameters out;
  out.architecture = options.architecture;
  out.kind = kernels::WeightsKind::kCuriosity;
  const at::Tensor host = flat.to(at::kCPU);
  out.values.assign(host.data_ptr<float>(), host.data_ptr<float>() + host.numel());
  return out;
}

absl::StatusOr<kernels::Parameters> CuriosityTrainer::Export() const {
  return state_->OnHost(state_->parameters);
}

absl::StatusOr<CuriosityCut> CuriosityTrainer::Save() const {
  State& s = *state_;
  return CuriosityCut{.weights = s.OnHost(s.parameters),
                      .optimizer = {.first = s.OnHost(s.optimizer.first_moment()),
                                    .second = s.OnHost(s.optimizer.second_moment()),
                                    .steps = s.optimizer.steps().item<float>()}};
}

absl::Status CuriosityTrainer::Restore(const CuriosityCut& cut) {
  State& s = *state_;
  const kernels::Parameters* const parts[] = {&cut.weights, &cut.optimizer.first,
                                              &cut.optimizer.second};
  at::Tensor* const places[] = {&s.parameters, &s.optimizer.first_moment(),
                                &s.optimizer.second_moment()};
  for (const kernels::Parameters* part : parts) {
    VIXEN_RETURN_IF_ERROR(CheckSize(*part, s.options.architecture));
  }
  try {
    at::NoGradGuard no_grad;
    for (size_t i = 0; i < std::size(parts); ++i) {
      std::vector<float> copy = parts[i]->values;
      places[i]->copy_(at::from_blob(copy.data(), {static_cast<int64_t>(copy.size())}, at::kFloat));
    }
    s.optimizer.steps().fill_(cut.optimizer.steps);
    return absl::OkStatus();
  } catch (const std::exception& error) {
    return TorchError(error);
  }
}

}  // namespace vixen::learner
