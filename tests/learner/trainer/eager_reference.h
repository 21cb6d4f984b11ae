// SPDX-License-Identifier: Apache-2.0
// The same update written the usual way: one module a layer, autograd, a tensor operation for
// everything. The reference of trainer_test and the peer of the learner benchmark.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include <vector>

#include "kernels/nn/network.h"
#include "learner/trainer/trainer.h"

namespace vixen::learner {

class EagerReference {
 public:
  // `dtype` kDouble for checks, kFloat to be timed.
  EagerReference(const TrainerOptions& options, const kernels::Parameters& online,
                 const kernels::Parameters& target, at::ScalarType dtype)
      : options_(options), dtype_(dtype) {
    online_ = Leaves(online, true);
    target_ = Leaves(target, false);
    for (const at::Tensor& leaf : online_) {
      first_.push_back(at::zeros_like(leaf));
      second_.push_back(at::zeros_like(leaf));
    }
    allowed_ = at::tensor(std::vector<int64_t>(options.actions.begin(), options.actions.end()));
  }

  at::Tensor Q(const std::vector<at::Tensor>& p, const at::Tensor& x) const {
    const auto lrelu = [](const at::Tensor& z) { return at::leaky_relu(z, 0.01); };
    const at::Tensor h = lrelu(at::linear(lrelu(at::linear(x, p[0], p[1])), p[2], p[3]));
    const at::Tensor v = at::linear(lrelu(at::linear(h, p[4], p[5])), p[6], p[7]);
    const at::Tensor a = at::linear(lrelu(at::linear(h, p[8], p[9])), p[10], p[11]);
    return v + a - a.mean(1, true);
  }

  // Returns |td|; loss() and gradients() are of this update.
  at::Tensor Update(Minibatch& batch) {
    const int64_t rows = batch.rows;
    const at::Tensor states =
        at::from_blob(batch.states.data(), {2 * rows, batch.state}, at::kFloat).to(dtype_);
    const at::Tensor s = states.narrow(0, 0, rows), next = states.narrow(0, rows, rows);
    const at::Tensor action = at::from_blob(batch.action.data(), {rows}, at::kByte).to(at::kLong);
    const at::Tensor reward = at::from_blob(batch.reward.data(), {rows}, at::kFloat).to(dtype_);
    const at::Tensor discount = at::from_blob(batch.discount.data(), {rows}, at::kFloat).to(dtype_);
    const at::Tensor weight = at::from_blob(batch.weight.data(), {rows}, at::kFloat).to(dtype_);
    at::Tensor y;
    {
      at::NoGradGuard no_grad;
      const at::Tensor next_target = Q(target_, next).index_select(1, allowed_);
      const at::Tensor choose =
          options_.double_dqn ? Q(online_, next).index_select(1, allowed_) : next_target;
      const at::Tensor best = choose.argmax(1, true);
      y = reward + discount * next_target.gather(1, best).squeeze(1);
    }
    const at::Tensor q = Q(online_, s).gather(1, action.unsqueeze(1)).squeeze(1);
    loss_ = (weight * at::huber_loss(q, y, at::Reduction::None, options_.huber_delta)).mean();
    for (at::Tensor& leaf : online_) leaf.mutable_grad() = at::Tensor();
    loss_.backward();
    at::NoGradGuard no_grad;
    Step();
    return (q.detach() - y).abs();
  }

  double loss() const { return loss_.item<double>(); }
  double gradient_norm() const { return norm_; }
  const std::vector<at::Tensor>& online() const { return online_; }
  const std::vector<at::Tensor>& target() const { return target_; }

 private:
  std::vector<at::Tensor> Leaves(const kernels::Parameters& from, bool trained) const {
    std::vector<at::Tensor> leaves;
    std::vector<float> values = from.values;
    const auto add = [&](size_t offset, std::vector<int64_t> shape) {
      leaves.push_back(at::from_blob(values.data() + offset, shape, at::kFloat).to(dtype_).clone());
      leaves.back().set_requires_grad(trained);
    };
    for (const kernels::LayerLayout& layer : kernels::LayersOf(from.architecture, from.kind)) {
      add(layer.weight_offset, {layer.outputs, layer.inputs});
      add(layer.bias_offset, {layer.outputs});
    }
    return leaves;
  }

  void Step() {
    at::Tensor squares = at::zeros({}, dtype_);
    for (const at::Tensor& leaf : online_) squares += leaf.grad().pow(2).sum();
    norm_ = squares.sqrt().item<double>();
    const double scale = options_.max_gradient_norm > 0 && norm_ > options_.max_gradient_norm
                             ? options_.max_gradient_norm / norm_
                             : 1.0;
    ++steps_;
    for (size_t i = 0; i < online_.size(); ++i) {
      const at::Tensor g = online_[i].grad() * scale;
      first_[i].mul_(0.9).add_(g, 0.1);
      second_[i].mul_(0.999).addcmul_(g, g, 0.001);
      const double correct1 = 1 - std::pow(0.9, steps_), correct2 = 1 - std::pow(0.999, steps_);
      const at::Tensor denominator = (second_[i] / correct2).sqrt_().add_(options_.adam_epsilon);
      online_[i].addcdiv_(first_[i], denominator, -options_.learning_rate / correct1);
      target_[i].lerp_(online_[i], options_.polyak_tau);
    }
  }

  const TrainerOptions options_;
  const at::ScalarType dtype_;
  std::vector<at::Tensor> online_, target_, first_, second_;
  at::Tensor allowed_, loss_;
  double norm_ = 0;
  double steps_ = 0;
};

}  // namespace vixen::learner
