// SPDX-License-Identifier: Apache-2.0
#include "learner/trainer/flat_optimizer.h"

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "base/status_macros.h"
#include "learner/parallel/ranks.h"

namespace vixen::learner {
namespace {

constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;

}  // namespace

FlatOptimizer::FlatOptimizer(const OptimizerOptions& options, int64_t parameters,
                             const at::Device& device)
    : options_(options) {
  const at::TensorOptions kind = at::TensorOptions().dtype(at::kFloat).device(device);
  exchanged_ = at::zeros({parameters + kFigures}, kind);
  gradient_ = exchanged_.narrow(0, 0, parameters);
  first_moment_ = at::zeros({parameters}, kind);
  second_moment_ = at::zeros({parameters}, kind);
  steps_ = at::zeros({}, kind);
}

absl::Status FlatOptimizer::Average(Ranks& ranks, std::span<float> figures) {
  at::Tensor host = exchanged_.to(at::kCPU);  // itself on the CPU
  float* const values = host.data_ptr<float>();
  const int64_t parameters = gradient_.numel();
  std::copy(figures.begin(), figures.end(), values + parameters);
  VIXEN_RETURN_IF_ERROR(ranks.Sum({values, static_cast<size_t>(parameters) + figures.size()}));
  host.mul_(1.0 / static_cast<double>(ranks.size()));
  std::copy_n(values + parameters, figures.size(), figures.begin());
  if (!host.is_same(exchanged_)) exchanged_.copy_(host);
  return absl::OkStatus();
}

double FlatOptimizer::Step(at::Tensor& parameters) {
  const double norm = std::sqrt(at::dot(gradient_, gradient_).item<double>());
  if (!std::isfinite(norm)) return norm;
  if (options_.max_gradient_norm > 0 && norm > options_.max_gradient_norm) {
    gradient_.mul_(options_.max_gradient_norm / norm);
  }
  steps_.add_(1);
  if (options_.weight_decay > 0) {
    at::_fused_adamw_({parameters}, {gradient_}, {first_moment_}, {second_moment_}, {}, {steps_},
                      options_.learning_rate, kBeta1, kBeta2, options_.weight_decay,
                      options_.epsilon, /*amsgrad=*/false, /*maximize=*/false);
  } else {
    at::_fused_adam_({parameters}, {gradient_}, {first_moment_}, {second_moment_}, {}, {steps_},
                     options_.learning_rate, kBeta1, kBeta2, /*weight_decay=*/0.0, options_.epsilon,
                     /*amsgrad=*/false, /*maximize=*/false);
  }
  return norm;
}

}  // namespace vixen::learner
