// SPDX-License-Identifier: Apache-2.0
// LibTorch types inside: included only by the trainers' own sources.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "absl/status/status.h"

namespace vixen::learner {

class Ranks;

struct OptimizerOptions {
  double learning_rate = 5e-4;
  double epsilon = 1e-5;
  double weight_decay = 0;       // decoupled (AdamW)
  double max_gradient_norm = 0;  // global; 0: no clipping
};

// Adam or, with weight decay, AdamW over one flat parameter tensor: one fused operation a step.
class FlatOptimizer {
 public:
  FlatOptimizer(const OptimizerOptions& options, int64_t parameters, const at::Device& device);

  at::Tensor& gradient() { return gradient_; }
  // What it carries from step to step: first and second moment, flat as the parameters, and the
  // number of steps (a scalar).
  at::Tensor& first_moment() { return first_moment_; }
  at::Tensor& second_moment() { return second_moment_; }
  at::Tensor& steps() { return steps_; }

  // The mean of the gradients of all ranks, and of `figures`, at most kFigures, which travel with
  // it. Errors as Ranks::Sum; the gradient is undefined then.
  absl::Status Average(Ranks& ranks, std::span<float> figures);
  static constexpr int64_t kFigures = 4;

  // Clips the gradient by its global norm and steps `parameters`. Returns the norm before clipping;
  // when it is not finite nothing is changed.
  double Step(at::Tensor& parameters);

 private:
  const OptimizerOptions options_;
  at::Tensor exchanged_;  // the gradient and kFigures more
  at::Tensor gradient_, first_moment_, second_moment_, steps_;
};

}  // namespace vixen::learner
