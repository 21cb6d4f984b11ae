// SPDX-License-Identifier: Apache-2.0
#include "learner/trainer/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "learner/curiosity/curiosity_trainer.h"
#include "learner/trainer/device.h"
#include "learner/trainer/initial_weights.h"
#include "tests/learner/trainer/eager_reference.h"

namespace vixen::learner {
namespace {

using kernels::Parameters;
using kernels::WeightsKind;

TrainerOptions SmallOptions() {
  TrainerOptions options;
  options.architecture = {.features = 5,
                          .hidden1 = 32,
                          .hidden2 = 16,
                          .value_hidden = 16,
                          .advantage_hidden = 32,
                          .curiosity_hidden = 16};
  options.actions = {1, 19, 37};
  options.batch_size = 24;
  options.max_gradient_norm = 0.05;  // small enough to clip
  options.polyak_tau = 0.1;
  return options;
}

void FillRandomly(const TrainerOptions& options, uint64_t seed, Minibatch& batch) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  for (float& x : batch.states) x = normal(random);
  for (uint32_t i = 0; i < batch.rows; ++i) {
    batch.action[i] = options.actions[random() % options.actions.size()];
    batch.reward[i] = 2 * normal(random);
    batch.discount[i] = random() % 4 == 0 ? 0.0f : 0.95f;
    batch.weight[i] = static_cast<float>(random() % 100 + 1) / 100.0f;
  }
}

struct Both {
  Parameters online, target;
};
Both Weights(const TrainerOptions& options) {
  return {InitialWeights(options.architecture, WeightsKind::kOnline, 3),
          InitialWeights(options.architecture, WeightsKind::kTarget, 4)};
}

std::unique_ptr<Trainer> Make(const TrainerOptions& options) {
  const Both weights = Weights(options);
  absl::StatusOr<std::unique_ptr<Trainer>> trainer =
      Trainer::Create(options, weights.online, weights.target);
  EXPECT_TRUE(trainer.ok()) << trainer.status();
  return std::move(*trainer);
}

double LargestDifference(const Parameters& ours, const std::vector<at::Tensor>& reference) {
  const std::vector<kernels::LayerLayout> layers =
      kernels::LayersOf(ours.architecture, WeightsKind::kOnline);
  double largest = 0;
  for (size_t i = 0; i < layers.size(); ++i) {
    for (int bias = 0; bias < 2; ++bias) {
      const at::Tensor flat =
          reference[2 * i + bias].detach().to(at::kDouble).contiguous().view({-1});
      const size_t offset = bias != 0 ? layers[i].bias_offset : layers[i].weight_offset;
      for (int64_t k = 0; k < flat.numel(); ++k) {
        const double theirs = flat.data_ptr<double>()[k];
        largest = std::max(largest, std::abs(theirs - ours.values[offset + k]));
      }
    }
  }
  return largest;
}

void CheckAgainstAutograd(const TrainerOptions& options) {
  const Both weights = Weights(options);
  EagerReference reference(options, weights.online, weights.target, at::kDouble);
  const std::unique_ptr<Trainer> trainer = Make(options);
  for (uint64_t update = 0; update < 3; ++update) {
    FillRandomly(options, update, trainer->minibatch());
    const at::Tensor td = reference.Update(trainer->minibatch());
    const absl::StatusOr<UpdateStatistics> statistics = trainer->Update();
    ASSERT_TRUE(statistics.ok()) << statistics.status();
    EXPECT_NEAR(statistics->loss, reference.loss(), 1e-5);
    EXPECT_NEAR(statistics->gradient_norm, reference.gradient_norm(),
                1e-4 * reference.gradient_norm());
    for (uint32_t i = 0; i < options.batch_size; ++i) {
      EXPECT_NEAR(trainer->abs_td()[i], td[i].item<double>(), 1e-4);
    }
    EXPECT_LT(LargestDifference(trainer->Export(WeightsKind::kOnline), reference.online()), 2e-5);
    EXPECT_LT(LargestDifference(trainer->Export(WeightsKind::kTarget), reference.target()), 2e-5);
  }
}

TEST(Trainer, AgreesWithAutogradInDoubles) { CheckAgainstAutograd(SmallOptions()); }

TEST(Trainer, AgreesWithAutogradOverAllActionsWithoutDoubleDqn) {
  TrainerOptions options = SmallOptions();
  options.actions.resize(kernels::kActions);
  std::iota(options.actions.begin(), options.actions.end(), uint8_t{0});
  options.double_dqn = false;
  options.max_gradient_norm = 0;
  CheckAgainstAutograd(options);
}

TEST(Trainer, GivesEqualWeightsForEqualSeeds) {
  const TrainerOptions options = SmallOptions();
  const std::unique_ptr<Trainer> one = Make(options), other = Make(options);
  for (uint64_t update = 0; update < 20; ++update) {
    for (Trainer* trainer : {one.get(), other.get()}) {
      FillRandomly(options, update, trainer->minibatch());
      ASSERT_TRUE(trainer->Update().ok());
    }
  }
  EXPECT_EQ(one->Export(WeightsKind::kOnline).values, other->Export(WeightsKind::kOnline).values);
}

TEST(Trainer, GivesTheSameUpdateForAnyBatchSizeOfOneRow) {
  std::vector<Parameters> results;
  std::vector<double> losses;
  for (uint32_t rows : {16u, 256u, 1024u}) {
    TrainerOptions options = SmallOptions();
    options.batch_size = 1;
    Minibatch one(1, options.architecture.state());
    FillRandomly(options, 5, one);
    options.batch_size = rows;
    const std::unique_ptr<Trainer> trainer = Make(options);
    Minibatch& batch = trainer->minibatch();
    for (uint32_t i = 0; i < rows; ++i) {
      std::copy_n(one.states.begin(), one.state, batch.states.begin() + size_t{i} * one.state);
      std::copy_n(one.states.begin() + one.state, one.state,
                  batch.states.begin() + (size_t{rows} + i) * one.state);
      batch.action[i] = one.action[0];
      batch.reward[i] = one.reward[0];
      batch.discount[i] = one.discount[0];
      batch.weight[i] = one.weight[0];
    }
    losses.push_back(trainer->Update()->loss);
    results.push_back(trainer->Export(WeightsKind::kOnline));
  }
  for (size_t i = 1; i < results.size(); ++i) {
    EXPECT_NEAR(losses[i], losses[0], 1e-6);
    for (size_t k = 0; k < results[0].values.size(); ++k) {
      ASSERT_NEAR(results[i].values[k], results[0].values[k], 1e-6);
    }
  }
}

TEST(Trainer, StopsAtANonFiniteLossAndKeepsTheWeights) {
  const TrainerOptions options = SmallOptions();
  const std::unique_ptr<Trainer> trainer = Make(options);
  const Parameters before = trainer->Export(WeightsKind::kOnline);
  for (float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    FillRandomly(options, 1, trainer->minibatch());
    trainer->minibatch().reward[7] = bad;
    const absl::Status status = trainer->Update().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(status.message(), testing::HasSubstr("loss"));
    EXPECT_EQ(trainer->Export(WeightsKind::kOnline).values, before.values);
  }
  FillRandomly(options, 1, trainer->minibatch());
  EXPECT_TRUE(trainer->Update().ok());
}

TEST(Trainer, CopiesTheTargetEveryPeriod) {
  TrainerOptions options = SmallOptions();
  options.target_period = 3;
  const std::unique_ptr<Trainer> trainer = Make(options);
  const Parameters first = trainer->Export(WeightsKind::kTarget);
  for (uint64_t update = 1; update <= 3; ++update) {
    EXPECT_EQ(trainer->Export(WeightsKind::kTarget).values, first.values);
    FillRandomly(options, update, trainer->minibatch());
    ASSERT_TRUE(trainer->Update().ok());
  }
  EXPECT_EQ(trainer->Export(WeightsKind::kTarget).values,
            trainer->Export(WeightsKind::kOnline).values);
}

TEST(Trainer, NeverMovesAFrozenTarget) {
  TrainerOptions options = SmallOptions();
  options.frozen_target = true;
  const std::unique_ptr<Trainer> trainer = Make(options);
  const Parameters first = trainer->Export(WeightsKind::kTarget);
  FillRandomly(options, 1, trainer->minibatch());
  ASSERT_TRUE(trainer->Update().ok());
  EXPECT_EQ(trainer->Export(WeightsKind::kTarget).values, first.values);
}

TEST(Trainer, RefusesWeightsOfAnotherArchitecture) {
  const TrainerOptions options = SmallOptions();
  Both weights = Weights(options);
  weights.target.values.pop_back();
  const absl::Status status = Trainer::Create(options, weights.online, weights.target).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), testing::HasSubstr("target weights hold"));
}

TEST(Trainer, LeavesCurrentWeightsAsTheyCameIn) {
  const TrainerOptions options = SmallOptions();
  EXPECT_EQ(Make(options)->Export(WeightsKind::kOnline).values, Weights(options).online.values);
}

TEST(Curiosity, LearnsToPredictAndItsGradientAgreesWithAutograd) {
  CuriosityOptions options;
  options.architecture = SmallOptions().architecture;
  options.batch_size = 32;
  options.learning_rate = 1e-2;
  const Parameters start = InitialWeights(options.architecture, WeightsKind::kCuriosity, 9);
  std::unique_ptr<CuriosityTrainer> trainer = *CuriosityTrainer::Create(options, start);
  CuriosityMinibatch& batch = trainer->minibatch();
  std::mt19937_64 random(2);
  std::normal_distribution<float> normal;
  for (float& x : batch.input) x = normal(random);
  for (uint32_t i = 0; i < batch.rows; ++i) {
    for (uint32_t e = 0; e < batch.embedding; ++e) {
      batch.target[i * batch.embedding + e] = batch.input[i * (batch.embedding + 3) + e] * 0.5f;
    }
  }
  // The first Adam step moves every parameter by the learning rate against its gradient's sign.
  std::vector<float> values = start.values;
  at::Tensor flat = at::from_blob(values.data(), {static_cast<int64_t>(values.size())}, at::kFloat)
                        .to(at::kDouble)
                        .set_requires_grad(true);
  const auto layers = kernels::LayersOf(options.architecture, WeightsKind::kCuriosity);
  const auto part = [&](size_t offset, int64_t size) {
    return flat.narrow(0, static_cast<int64_t>(offset), size);
  };
  const int64_t width = batch.embedding + 3;
  at::Tensor x = at::from_blob(batch.input.data(), {batch.rows, width}, at::kFloat).to(at::kDouble);
  for (size_t i = 0; i < 2; ++i) {
    const auto& l = layers[i];
    x = at::linear(x,
                   part(l.weight_offset, int64_t{l.outputs} * l.inputs).view({l.outputs, l.inputs}),
                   part(l.bias_offset, l.outputs));
    if (i == 0) x = at::leaky_relu(x, 0.01);
  }
  const at::Tensor y =
      at::from_blob(batch.target.data(), {batch.rows, batch.embedding}, at::kFloat).to(at::kDouble);
  const at::Tensor loss = (x - y).pow(2).mean();
  loss.backward();

  const double first = *trainer->Update();
  EXPECT_NEAR(first, loss.item<double>(), 1e-5);
  const Parameters after = *trainer->Export();
  for (size_t i = 0; i < values.size(); ++i) {
    const double gradient = flat.grad()[static_cast<int64_t>(i)].item<double>();
    const double step = options.learning_rate * gradient / (std::abs(gradient) + 1e-8);
    EXPECT_NEAR(after.values[i], start.values[i] - step, 2e-3 * options.learning_rate + 1e-6);
  }
  double last = first;
  for (int update = 0; update < 300; ++update) last = *trainer->Update();
  EXPECT_LT(last, 0.1 * first);
}

TEST(Device, RefusesAnUnknownName) {
  const absl::Status status = SetUpDevices("tpu", 0, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), testing::HasSubstr("tpu"));
}

TEST(Device, GivesTheCpuAndAutoAlwaysWorks) {
  EXPECT_EQ(SetUpDevices("cpu", 0, 1)->name(), "cpu");
  EXPECT_TRUE(SetUpDevices("auto", 0, 1).ok());
}

TEST(Trainer, GoesOnFromACutBitByBit) {
  TrainerOptions options = SmallOptions();
  for (const uint64_t period : {uint64_t{0}, uint64_t{3}}) {  // Polyak, hard copies
    options.target_period = period;
    const std::unique_ptr<Trainer> straight = Make(options);
    const std::unique_ptr<Trainer> resumed = Make(options);
    for (uint64_t update = 0; update < 12; ++update) {
      FillRandomly(options, update, straight->minibatch());
      const absl::StatusOr<UpdateStatistics> ours = straight->Update();
      ASSERT_TRUE(ours.ok()) << ours.status();
      if (update == 4) {
        const absl::Status restored = resumed->Restore(straight->Save());
        ASSERT_TRUE(restored.ok()) << restored;
        EXPECT_EQ(resumed->updates(), 5u);
      }
      if (update < 5) continue;
      FillRandomly(options, update, resumed->minibatch());
      const absl::StatusOr<UpdateStatistics> theirs = resumed->Update();
      ASSERT_TRUE(theirs.ok()) << theirs.status();
      EXPECT_EQ(ours->loss, theirs->loss) << update;
      EXPECT_EQ(ours->gradient_norm, theirs->gradient_norm) << update;
    }
    EXPECT_EQ(straight->Export(WeightsKind::kOnline).values,
              resumed->Export(WeightsKind::kOnline).values);
    EXPECT_EQ(straight->Export(WeightsKind::kTarget).values,
              resumed->Export(WeightsKind::kTarget).values);
  }
}

// What a resume from weights alone restores: the target's period goes on from the count of updates,
// Adam begins anew.
TEST(Trainer, TheCountOfUpdatesIsNotAdamsCountOfSteps) {
  TrainerOptions options = SmallOptions();
  options.target_period = 3;
  const std::unique_ptr<Trainer> fresh = Make(options);
  const std::unique_ptr<Trainer> resumed = Make(options);
  TrainerCut cut = resumed->Save();
  EXPECT_EQ(cut.optimizer.steps, 0.0f);
  cut.updates = 1000;
  ASSERT_TRUE(resumed->Restore(cut).ok());
  const std::vector<float> target = resumed->Export(WeightsKind::kTarget).values;
  for (uint64_t update = 1001; update <= 1002; ++update) {
    FillRandomly(options, update, fresh->minibatch());
    FillRandomly(options, update, resumed->minibatch());
    ASSERT_TRUE(fresh->Update().ok());
    ASSERT_TRUE(resumed->Update().ok());
    EXPECT_EQ(resumed->updates(), update);
    const bool copied = resumed->Export(WeightsKind::kTarget).values != target;
    EXPECT_EQ(copied, update == 1002) << update;  // 334 periods
    EXPECT_EQ(fresh->Export(WeightsKind::kOnline).values,
              resumed->Export(WeightsKind::kOnline).values);
  }
  const TrainerCut after = resumed->Save();
  EXPECT_EQ(after.updates, 1002u);
  EXPECT_EQ(after.optimizer.steps, 2.0f);
}

TEST(Trainer, RefusesACutOfAnotherArchitecture) {
  const std::unique_ptr<Trainer> trainer = Make(SmallOptions());
  TrainerCut cut = trainer->Save();
  cut.optimizer.second.values.pop_back();
  EXPECT_EQ(trainer->Restore(cut).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace vixen::learner
