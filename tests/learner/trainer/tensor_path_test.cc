// SPDX-License-Identifier: Apache-2.0
// The gradient by LibTorch's operations, which other devices run, against the processor's own.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "learner/trainer/dueling_network.h"
#include "learner/trainer/host_gradient.h"
#include "learner/trainer/initial_weights.h"

namespace vixen::learner {
namespace {

constexpr uint32_t kRows = 40;

void Compare(bool double_dqn) {
  at::NoGradGuard no_grad;
  const HostGradientOptions options{.architecture = {.features = 9,
                                                     .hidden1 = 48,
                                                     .hidden2 = 32,
                                                     .value_hidden = 16,
                                                     .advantage_hidden = 32,
                                                     .curiosity_hidden = 16},
                                    .actions = {1, 19, 37, 44},
                                    .batch_size = kRows,
                                    .double_dqn = double_dqn};
  const size_t n = options.actions.size();
  DuelingNetwork online(options.architecture, options.actions, at::kCPU);
  DuelingNetwork target(options.architecture, options.actions, at::kCPU);
  online.Import(InitialWeights(options.architecture, kernels::WeightsKind::kOnline, 1));
  target.Import(InitialWeights(options.architecture, kernels::WeightsKind::kTarget, 2));

  Minibatch batch(kRows, options.architecture.state());
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal;
  std::vector<uint32_t> column;
  for (float& x : batch.states) x = normal(random);
  for (uint32_t i = 0; i < kRows; ++i) {
    column.push_back(static_cast<uint32_t>(random() % n));
    batch.reward[i] = normal(random);
    batch.discount[i] = random() % 4 == 0 ? 0.0f : 0.9f;
    batch.weight[i] = 1.0f;
  }

  const at::Tensor states =
      at::from_blob(batch.states.data(), {2 * int64_t{kRows}, batch.state}, at::kFloat);
  const auto actions = static_cast<int64_t>(n);
  DuelingActivations online_pass(options.architecture, 2 * int64_t{kRows}, actions, at::kCPU);
  DuelingActivations target_pass(options.architecture, kRows, actions, at::kCPU);
  online.Forward(states, online_pass);
  target.Forward(states.narrow(0, kRows, kRows), target_pass);
  const float* const q = online_pass.q.data_ptr<float>();
  const float* const next = target_pass.q.data_ptr<float>();
  std::vector<float> q_gradient(kRows * n), abs_td(kRows), taken_q(kRows);
  const UpdateStatistics expected =
      ComputeTdLoss({.rows = kRows,
                     .actions = static_cast<uint32_t>(n),
                     .q = {q, kRows * n},
                     .choose = {double_dqn ? q + kRows * n : next, kRows * n},
                     .next = {next, kRows * n},
                     .action = column,
                     .reward = batch.reward,
                     .discount = batch.discount,
                     .weight = batch.weight},
                    q_gradient, abs_td, taken_q);
  at::Tensor gradient = at::zeros({online.parameter_count()}, at::kFloat);
  online.Backward(states, online_pass,
                  at::from_blob(q_gradient.data(), {int64_t{kRows}, actions}, at::kFloat),
                  gradient);

  std::vector<float> own(static_cast<size_t>(online.parameter_count()));
  std::vector<float> own_td(kRows), own_q(kRows);
  HostGradient host(options);
  const UpdateStatistics statistics =
      host.Compute(online.parameters().data_ptr<float>(), target.parameters().data_ptr<float>(),
                   batch, column, own.data(), own_td, own_q);
  EXPECT_NEAR(statistics.loss, expected.loss, 1e-6);
  EXPECT_NEAR(statistics.mean_q, expected.mean_q, 1e-6);
  EXPECT_NEAR(statistics.max_q, expected.max_q, 1e-6);
  EXPECT_EQ(statistics.clipped_rows, expected.clipped_rows);
  for (uint32_t i = 0; i < kRows; ++i) {
    EXPECT_NEAR(own_td[i], abs_td[i], 1e-5) << i;
    EXPECT_NEAR(own_q[i], taken_q[i], 1e-5) << i;
  }
  const float* const theirs = gradient.data_ptr<float>();
  float size = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    size = std::max(size, std::abs(theirs[i]));
    ASSERT_NEAR(own[i], theirs[i], 1e-6) << i;
  }
  EXPECT_GT(size, 1e-3);
}

TEST(TensorPath, GivesTheGradientOfTheProcessorsOwn) { Compare(true); }
TEST(TensorPath, GivesItWithoutDoubleDqnToo) { Compare(false); }

}  // namespace
}  // namespace vixen::learner
