// SPDX-License-Identifier: Apache-2.0
// Against autograd: trainer_test.cc.
#include "learner/trainer/host_gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "learner/trainer/host_layers.h"

namespace vixen::learner {
namespace {

struct Made {
  UpdateStatistics statistics;
  std::vector<float> gradient, abs_td, taken_q;
};

// More rows than a block holds on any number of threads that is tried here.
constexpr uint32_t kRows = 407;

class Gradient {
 public:
  Gradient() : batch_(kRows, options_.architecture.state()), layout_(options_.architecture) {
    options_.batch_size = kRows;
    std::mt19937_64 random(1);
    std::normal_distribution<float> normal;
    for (float& x : batch_.states) x = normal(random);
    for (uint32_t i = 0; i < kRows; ++i) {
      column_.push_back(static_cast<uint32_t>(random() % options_.actions.size()));
      batch_.reward[i] = normal(random);
      batch_.discount[i] = random() % 4 == 0 ? 0.0f : 0.9f;
      batch_.weight[i] = 0.01f * static_cast<float>(random() % 100 + 1);
    }
    for (std::vector<float>* flat : {&online_, &target_}) {
      for (size_t i = 0; i < layout_.count; ++i) flat->push_back(0.1f * normal(random));
    }
  }

  Made Compute(int threads) {
    options_.threads = threads;
    HostGradient gradient(options_);
    Made made{.gradient = std::vector<float>(layout_.count, 7.0f),
              .abs_td = std::vector<float>(kRows),
              .taken_q = std::vector<float>(kRows)};
    for (int again = 0; again < 2; ++again) {
      made.statistics = gradient.Compute(online_.data(), target_.data(), batch_, column_,
                                         made.gradient.data(), made.abs_td, made.taken_q);
    }
    return made;
  }
  Minibatch& batch() { return batch_; }

 private:
  HostGradientOptions options_{.architecture = {.features = 5,
                                                .hidden1 = 48,
                                                .hidden2 = 32,
                                                .value_hidden = 16,
                                                .advantage_hidden = 32,
                                                .curiosity_hidden = 16},
                               .actions = {1, 19, 37, 44}};
  Minibatch batch_;
  HostLayout layout_;
  std::vector<uint32_t> column_;
  std::vector<float> online_, target_;
};

TEST(HostGradient, IsTheSameToTheBitOnAnyNumberOfThreads) {
  Gradient gradient;
  const Made one = gradient.Compute(1);
  double size = 0;
  for (const float x : one.gradient) size = std::max<double>(size, std::abs(x));
  ASSERT_GT(size, 1e-3);
  for (const int threads : {1, 2, 3, 5, 16}) {
    const Made many = gradient.Compute(threads);
    EXPECT_EQ(many.gradient, one.gradient) << threads;
    EXPECT_EQ(many.abs_td, one.abs_td);
    EXPECT_EQ(many.taken_q, one.taken_q);
    EXPECT_EQ(many.statistics.loss, one.statistics.loss);
    EXPECT_EQ(many.statistics.mean_abs_td, one.statistics.mean_abs_td);
    EXPECT_EQ(many.statistics.mean_q, one.statistics.mean_q);
    EXPECT_EQ(many.statistics.max_q, one.statistics.max_q);
    EXPECT_EQ(many.statistics.clipped_rows, one.statistics.clipped_rows);
  }
}

TEST(HostGradient, DoesNotLookAtTheBootstrapStatesOfTerminalRows) {
  Gradient gradient;
  const Made before = gradient.Compute(2);
  Minibatch& batch = gradient.batch();
  for (uint32_t i = 0; i < kRows; ++i) {
    if (batch.discount[i] != 0.0f) continue;
    for (uint32_t k = 0; k < batch.state; ++k) {
      batch.states[(size_t{kRows} + i) * batch.state + k] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  const Made after = gradient.Compute(2);
  EXPECT_EQ(after.gradient, before.gradient);
  EXPECT_EQ(after.abs_td, before.abs_td);
}

TEST(HostGradient, ShowsARewardThatIsNoNumberInItsLoss) {
  Gradient gradient;
  gradient.batch().reward[kRows - 1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(gradient.Compute(2).statistics.loss));
}

}  // namespace
}  // namespace vixen::learner
