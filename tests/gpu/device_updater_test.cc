// SPDX-License-Identifier: Apache-2.0
// Replay and trainer on the GPU against those on the CPU. Skipped where there is no GPU.
#include "learner/device/device_updater.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <random>
#include <span>
#include <vector>

#include "kernels/cuda/device.h"
#include "learner/curiosity/curiosity_trainer.h"
#include "learner/trainer/host_updater.h"
#include "learner/trainer/initial_weights.h"
#include "tests/gpu/updater_cases.h"

namespace vixen::learner {
namespace {

using kernels::Parameters;
using kernels::WeightsKind;

class DeviceUpdaterTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!CheckDeviceUpdater(0).ok()) GTEST_SKIP() << CheckDeviceUpdater(0);
  }

  static std::unique_ptr<Updater> Host(const Case& c, std::span<const float> features) {
    auto made = MakeHostUpdater(c.replay, c.trainer, features, Weights(c, WeightsKind::kOnline),
                                Weights(c, WeightsKind::kTarget));
    EXPECT_TRUE(made.ok()) << made.status();
    return std::move(*made);
  }
  static std::unique_ptr<Updater> Device(const Case& c, std::span<const float> features) {
    auto made =
        MakeDeviceUpdater(c.device, c.replay, c.trainer, features, Weights(c, WeightsKind::kOnline),
                          Weights(c, WeightsKind::kTarget));
    EXPECT_TRUE(made.ok()) << made.status();
    return std::move(*made);
  }
  static Parameters Weights(const Case& c, WeightsKind kind) {
    return InitialWeights(c.trainer.architecture, kind, kind == WeightsKind::kOnline ? 3 : 4);
  }
};

double LargestDifference(const Parameters& a, const Parameters& b) {
  double largest = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    largest = std::max<double>(largest, std::abs(a.values[i] - b.values[i]));
  }
  return largest;
}

// ‖a − b‖ / ‖b − start‖: how wrong the step itself is.
double StepError(const Parameters& a, const Parameters& b, const Parameters& start) {
  double error = 0, step = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    error += std::pow(double{a.values[i]} - b.values[i], 2);
    step += std::pow(double{b.values[i]} - start.values[i], 2);
  }
  return std::sqrt(error / step);
}

void ExpectSameUpdates(const Case& c, Updater& host, Updater& device, int updates,
                       double loss_tolerance, double step_tolerance) {
  for (int i = 0; i < updates; ++i) {
    auto ours = device.Update(1, 0);
    auto theirs = host.Update(1, 0);
    ASSERT_TRUE(ours.ok()) << ours.status();
    ASSERT_TRUE(theirs.ok()) << theirs.status();
    const UpdateStatistics &a = ours->statistics[0], &b = theirs->statistics[0];
    EXPECT_NEAR(a.loss, b.loss, loss_tolerance * std::abs(b.loss)) << i;
    EXPECT_NEAR(a.mean_abs_td, b.mean_abs_td, loss_tolerance * b.mean_abs_td) << i;
    EXPECT_NEAR(a.mean_q, b.mean_q, loss_tolerance) << i;
    EXPECT_NEAR(a.max_q, b.max_q, loss_tolerance) << i;
    EXPECT_NEAR(a.gradient_norm, b.gradient_norm, 10 * loss_tolerance * b.gradient_norm) << i;
    EXPECT_NEAR(ours->effective_samples, theirs->effective_samples, 1e-3) << i;
    size_t same = 0;
    for (size_t k = 0; k < c.trainer.batch_size; ++k) {
      same += ours->sample->slot[k] == theirs->sample->slot[k] ? 1 : 0;
    }
    EXPECT_GE(same, c.trainer.batch_size - 2 - c.trainer.batch_size / 1000)
        << "rows drawn alike, update " << i;
    EXPECT_EQ(ours->priorities.stale, 0u);
  }
  const WeightsKind online = WeightsKind::kOnline, target = WeightsKind::kTarget;
  const Parameters start = InitialWeights(c.trainer.architecture, online, 3);
  const double error = StepError(*device.Export(online), *host.Export(online), start);
  EXPECT_LT(error, step_tolerance);
  EXPECT_LT(LargestDifference(*device.Export(target), *host.Export(target)),
            1e-4 + step_tolerance * 1e-2);
  std::printf("    step error %.2e\n", error);
}

TEST_F(DeviceUpdaterTest, UpdatesAsTheCpuDoesInFloat32) {
  for (const Case& c : {SmallCase(), DefaultCase()}) {
    const std::vector<float> features = Features(c.trainer);
    auto host = Host(c, features), device = Device(c, features);
    const std::vector<ReplayRow> rows = Rows(c.trainer, 15'000, 1);
    ASSERT_TRUE(host->Insert(rows).ok());
    ASSERT_TRUE(device->Insert(rows).ok());
    ExpectSameUpdates(c, *host, *device, 5, 2e-3, 0.03);
  }
}

TEST_F(DeviceUpdaterTest, UpdatesWithinTheRoundingOfTf32AndBf16) {
  for (const auto& [precision, tolerance] : std::map<DevicePrecision, double>{
           {DevicePrecision::kTf32, 0.01}, {DevicePrecision::kBf16, 0.05}}) {
    if (BestDevicePrecision(0) == DevicePrecision::kFp32) GTEST_SKIP() << "before sm_80";
    Case c = DefaultCase();
    c.device.precision = precision;
    const std::vector<float> features = Features(c.trainer);
    auto host = Host(c, features), device = Device(c, features);
    const std::vector<ReplayRow> rows = Rows(c.trainer, 15'000, 1);
    ASSERT_TRUE(host->Insert(rows).ok());
    ASSERT_TRUE(device->Insert(rows).ok());
    // Adam's first steps have the size of the learning rate whatever the gradient: signs of small
    // ones flip.
    ExpectSameUpdates(c, *host, *device, 1, tolerance,
                      precision == DevicePrecision::kTf32 ? 0.2 : 0.5);
  }
}

// The case by wgmma, whatever the size of its minibatch.
Case ByWgmma(Case c) {
  c.device.precision = DevicePrecision::kTf32;
  c.device.algorithm = PassAlgorithm::kWgmma;
  return c;
}

TEST_F(DeviceUpdaterTest, UpdatesByWgmmaWithinTheRoundingOfTf32) {
  if (kernels::QueryCudaDevice(0)->capability() != 90) GTEST_SKIP() << "sm_90a alone has wgmma";
  std::vector<Case> cases(7, ByWgmma(DefaultCase()));
  cases[0].trainer.batch_size = 8192;    // 192 rows a block forward, 64 backward
  cases[1].trainer.batch_size = 5000;    // a last block that is not full
  cases[2].trainer.batch_size = 16'384;  // 128 rows a block backward
  cases[3].trainer.batch_size = 100;
  cases[4].trainer.double_dqn = false;
  cases[5] = ByWgmma(SmallCase());
  cases[6] = ByWgmma(SmallCase());
  cases[6].trainer.architecture.hidden1 = 208;
  cases[6].trainer.architecture.hidden2 = 144;
  cases[6].trainer.architecture.value_hidden = 48;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.trainer.batch_size);
    const std::vector<float> features = Features(c.trainer);
    auto host = Host(c, features), device = Device(c, features);
    const std::vector<ReplayRow> rows = Rows(c.trainer, 19'000, 1);
    ASSERT_TRUE(host->Insert(rows).ok());
    ASSERT_TRUE(device->Insert(rows).ok());
    ExpectSameUpdates(c, *host, *device, 1, 0.01, 0.2);
  }
}

TEST_F(DeviceUpdaterTest, WgmmaAndMmaRoundAlike) {
  if (kernels::QueryCudaDevice(0)->capability() != 90) GTEST_SKIP() << "sm_90a alone has wgmma";
  for (const uint32_t batch : {1024u, 3000u}) {
    Case c = DefaultCase();
    c.trainer.batch_size = batch;
    c.trainer.max_gradient_norm = 0;
    const std::vector<float> features = Features(c.trainer);
    const std::vector<ReplayRow> rows = Rows(c.trainer, 15'000, 1);
    std::vector<std::unique_ptr<Updater>> updaters;
    std::vector<UpdateStatistics> made;
    for (const PassAlgorithm algorithm : {PassAlgorithm::kMma, PassAlgorithm::kWgmma}) {
      c.device.precision = DevicePrecision::kTf32;
      c.device.algorithm = algorithm;
      updaters.push_back(Device(c, features));
      ASSERT_TRUE(updaters.back()->Insert(rows).ok());
      auto update = updaters.back()->Update(1, 0);
      ASSERT_TRUE(update.ok()) << update.status();
      made.push_back(update->statistics[0]);
    }
    // The same operands: only the order of the sums differs, and what it rounds otherwise.
    EXPECT_NEAR(made[0].loss, made[1].loss, 1e-4 * made[0].loss);
    EXPECT_NEAR(made[0].mean_q, made[1].mean_q, 1e-5);
    EXPECT_NEAR(made[0].max_q, made[1].max_q, 1e-3);
    EXPECT_NEAR(made[0].gradient_norm, made[1].gradient_norm, 1e-3 * made[0].gradient_norm);
  }
}

TEST_F(DeviceUpdaterTest, OptionsMeanWhatTheyMeanOnTheCpu) {
  std::vector<Case> cases(5, SmallCase());
  cases[0].trainer.double_dqn = false;
  cases[1].trainer.weight_decay = 0.01;
  cases[2].trainer.target_period = 2;
  cases[3].replay.start_at_max = true;
  cases[4].replay.alpha = 0;
  cases[4].trainer.max_gradient_norm = 0;
  for (const Case& c : cases) {
    const std::vector<float> features = Features(c.trainer);
    auto host = Host(c, features), device = Device(c, features);
    for (uint64_t part = 0; part < 5; ++part) {  // the ring goes round
      const std::vector<ReplayRow> rows = Rows(c.trainer, 6'000, part);
      ASSERT_TRUE(host->Insert(rows).ok());
      ASSERT_TRUE(device->Insert(rows).ok());
      ExpectSameUpdates(c, *host, *device, 2, 2e-3, 0.05);
    }
  }
}

std::vector<float> Everything(Updater& updater) {
  std::vector<float> all;
  for (const WeightsKind kind : {WeightsKind::kOnline, WeightsKind::kTarget}) {
    const Parameters parameters = *updater.Export(kind);
    all.insert(all.end(), parameters.values.begin(), parameters.values.end());
  }
  ReplayCut cut;
  EXPECT_TRUE(updater.SaveReplay(cut).ok());
  if (updater.curiosity() != nullptr) {
    const Parameters parameters = *updater.curiosity()->Export();
    all.insert(all.end(), parameters.values.begin(), parameters.values.end());
  }
  all.insert(all.end(), cut.leaves.begin(), cut.leaves.end());
  return all;
}

std::vector<float> Networks(const Updater& updater) {
  std::vector<float> both;
  for (const WeightsKind kind : {WeightsKind::kOnline, WeightsKind::kTarget}) {
    const Parameters parameters = *updater.Export(kind);
    both.insert(both.end(), parameters.values.begin(), parameters.values.end());
  }
  return both;
}

Case CuriousCase(Case c, uint32_t period) {
  c.device.curiosity = {
      .period = period,
      .learning_rate = 1e-3,
      .weights = InitialWeights(c.trainer.architecture, WeightsKind::kCuriosity, 5)};
  return c;
}

TEST_F(DeviceUpdaterTest, TrainsTheCuriosityModelAsLibTorchDoes) {
  for (const Case& c : {CuriousCase(SmallCase(), 3), CuriousCase(DefaultCase(), 2)}) {
    const uint32_t period = c.device.curiosity->period;
    const std::vector<float> features = Features(c.trainer);
    auto host = Host(c, features), device = Device(c, features);
    const Parameters& start = c.device.curiosity->weights;
    const auto reference =
        std::move(*CuriosityTrainer::Create({.architecture = c.trainer.architecture,
                                             .batch_size = c.trainer.batch_size,
                                             .learning_rate = 1e-3},
                                            start));
    const std::vector<ReplayRow> rows = Rows(c.trainer, 15'000, 1);
    ASSERT_TRUE(host->Insert(rows).ok());
    ASSERT_TRUE(device->Insert(rows).ok());
    for (uint32_t update = 1; update <= 4 * period; ++update) {
      ASSERT_TRUE(host->Update(1, 0).ok());
      const auto made = device->Update(1, 0);
      ASSERT_TRUE(made.ok()) << made.status();
      ASSERT_EQ(made->curiosity_updates, update % period == 0 ? 1u : 0u);
      if (update % period != 0) continue;
      ASSERT_TRUE(host->GatherLast(reference->minibatch()).ok());
      const auto loss = reference->Update();
      ASSERT_TRUE(loss.ok()) << loss.status();
      EXPECT_NEAR(made->curiosity_loss, *loss, 1e-3 * *loss);
    }
    EXPECT_LT(StepError(*device->curiosity()->Export(), *reference->Export(), start), 0.05);

    // A cut of one goes on in the other.
    const CuriosityCut cut = *device->curiosity()->Save();
    EXPECT_EQ(cut.optimizer.steps, 4);
    EXPECT_TRUE(reference->Restore(cut).ok());
    EXPECT_TRUE(device->curiosity()->Restore(*reference->Save()).ok());
    EXPECT_EQ(device->curiosity()->Save()->optimizer.second.values, cut.optimizer.second.values);
    CuriosityCut other = cut;
    other.optimizer.first.values.pop_back();
    EXPECT_EQ(device->curiosity()->Restore(other).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(DeviceUpdaterTest, ACuriosityLossThatIsNoNumberLeavesTheModelAsItWas) {
  const Case c = CuriousCase(SmallCase(), 4);
  const std::vector<float> features = Features(c.trainer);
  auto device = Device(c, features);
  std::vector<ReplayRow> rows = Rows(c.trainer, 1000, 1);
  for (ReplayRow& row : rows) row.next_portfolio[1] = std::numeric_limits<float>::infinity();
  ASSERT_TRUE(device->Insert(rows).ok());
  const auto made = device->Update(16, 0);
  EXPECT_EQ(made.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(made.status().message()),
              testing::HasSubstr("curiosity loss inf at update 4 is not finite"));
  EXPECT_EQ(device->curiosity()->Export()->values, c.device.curiosity->weights.values);
}

class SameBytes : public DeviceUpdaterTest, public testing::WithParamInterface<uint32_t> {};

TEST_P(SameBytes, InEveryRun) {
  Case c = CuriousCase(DefaultCase(), 3);
  c.trainer.batch_size = GetParam();
  c.device.precision = BestDevicePrecision(0);
  const std::vector<float> features = Features(c.trainer);
  const std::vector<ReplayRow> rows = Rows(c.trainer, 15'000, 1);
  std::vector<std::vector<float>> results;
  // The last one by one: a graph of many updates is many graphs of one.
  for (const uint64_t at_once : {16, 16, 1}) {
    auto device = Device(c, features);
    ASSERT_TRUE(device->Insert(rows).ok());
    for (uint64_t made = 0; made < 64;) {
      auto updates = device->Update(at_once, 0);
      ASSERT_TRUE(updates.ok()) << updates.status();
      made += updates->statistics.size();
    }
    results.push_back(Everything(*device));
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}
INSTANTIATE_TEST_SUITE_P(DeviceUpdaterTest, SameBytes, testing::Values(256u, 1024u, 8192u));

// A replay of 700 rows with these |td|, in a ring of 1,000; draws of 4,096.
Case DrawCase() {
  Case c = SmallCase();
  c.trainer.batch_size = 4096;
  c.trainer.learning_rate = 1e-12;
  c.replay.capacity = 1000;
  c.replay.alpha = 1;
  c.replay.epsilon = 0;
  return c;
}
std::vector<ReplayRow> RowsOf(const Case& c, float td) {
  std::vector<ReplayRow> rows = Rows(c.trainer, 700, 1);
  for (ReplayRow& row : rows) row.td = td;
  return rows;
}

TEST_F(DeviceUpdaterTest, DrawsUniformlyWhenAllPrioritiesAreZero) {
  const Case c = DrawCase();
  const std::vector<float> features = Features(c.trainer);
  auto device = Device(c, features);
  ASSERT_TRUE(device->Insert(RowsOf(c, 0)).ok());
  EXPECT_DOUBLE_EQ(*device->LeastShare(), 1.0 / 700);
  auto made = device->Update(1, 0);
  ASSERT_TRUE(made.ok()) << made.status();
  std::vector<int> counts(700);
  for (size_t k = 0; k < 4096; ++k) {
    ASSERT_LT(made->sample->slot[k], 700u);
    ++counts[made->sample->slot[k]];
    EXPECT_EQ(made->sample->weight[k], 1.0f);
  }
  for (const int count : counts) EXPECT_LT(std::abs(count - 4096.0 / 700), 2.0);
  EXPECT_EQ(made->priorities.stale, 0u);
}

TEST_F(DeviceUpdaterTest, DrawsTheOnlyRowWithAPriorityAndNoOther) {
  const Case c = DrawCase();
  const std::vector<float> features = Features(c.trainer);
  for (const uint32_t only : {0u, 37u, 128u, 699u}) {
    auto device = Device(c, features);
    std::vector<ReplayRow> rows = RowsOf(c, 0);
    rows[only].td = 1e-30f;
    ASSERT_TRUE(device->Insert(rows).ok());
    EXPECT_DOUBLE_EQ(*device->LeastShare(), 1.0);
    auto made = device->Update(1, 0);
    ASSERT_TRUE(made.ok()) << made.status();
    for (size_t k = 0; k < 4096; ++k) {
      ASSERT_EQ(made->sample->slot[k], only);
      EXPECT_EQ(made->sample->weight[k], 1.0f);
    }
    // Its priority is its |td| now, and it stays the only one.
    ReplayCut cut;
    ASSERT_TRUE(device->SaveReplay(cut).ok());
    for (size_t i = 0; i < 700; ++i) EXPECT_EQ(cut.leaves[i] > 0, i == only) << i;
    EXPECT_NEAR(cut.leaves[only], made->abs_td[0], 1e-6 * made->abs_td[0]);
  }
}

TEST_F(DeviceUpdaterTest, KeepsNoResidueOfAHugePriority) {
  const Case c = DrawCase();
  const std::vector<float> features = Features(c.trainer);
  auto device = Device(c, features);
  std::vector<ReplayRow> rows = RowsOf(c, 1);
  rows[300].td = 1e30f;
  ASSERT_TRUE(device->Insert(rows).ok());
  EXPECT_NEAR(*device->LeastShare(), 1e-30, 1e-36);
  auto made = device->Update(1, 0);
  ASSERT_TRUE(made.ok()) << made.status();
  for (size_t k = 0; k < 4096; ++k) ASSERT_EQ(made->sample->slot[k], 300u);
  const double weight = std::pow(1.0 / double{1e30f}, c.replay.beta_start);
  EXPECT_NEAR(made->sample->weight[0], weight, 1e-5 * weight);
  // From now on its priority is its |td|, and the others have theirs again.
  const double own = made->abs_td[0], total = 699 + own;
  EXPECT_NEAR(*device->LeastShare(), std::min(1.0, own) / total, 1e-9);
  auto after = device->Update(1, 0);
  ASSERT_TRUE(after.ok()) << after.status();
  std::vector<int> counts(700);
  for (size_t k = 0; k < 4096; ++k) ++counts[after->sample->slot[k]];
  for (size_t i = 0; i < 700; ++i) {
    EXPECT_LT(std::abs(counts[i] - 4096 * (i == 300 ? own : 1.0) / total), 2.0) << i;
  }
}

TEST_F(DeviceUpdaterTest, WeighsByALeastShareFromElsewhere) {
  const Case c = DrawCase();
  const std::vector<float> features = Features(c.trainer);
  auto device = Device(c, features);
  ASSERT_TRUE(device->Insert(RowsOf(c, 2)).ok());
  // Another rank has a row a tenth as probable as each of these.
  auto made = device->Update(1, 0.1 / 700);
  ASSERT_TRUE(made.ok()) << made.status();
  const double weight = std::pow(0.1, c.replay.beta_start);
  for (size_t k = 0; k < 4096; ++k) EXPECT_NEAR(made->sample->weight[k], weight, 1e-6);
}

TEST_F(DeviceUpdaterTest, DrawsByPriorityWithTheWeightsOfTheCpu) {
  Case c = SmallCase();
  c.trainer.batch_size = 4096;
  c.trainer.learning_rate = 1e-12;
  c.replay.capacity = 1000;
  const std::vector<float> features = Features(c.trainer);
  auto device = Device(c, features);
  ASSERT_TRUE(device->Insert(Rows(c.trainer, 700, 1)).ok());
  // The first draw is by the rows' own |td|: expected counts from the cut.
  ReplayCut cut;
  ASSERT_TRUE(device->SaveReplay(cut).ok());
  double total = 0, least = 1e30;
  for (size_t i = 0; i < 700; ++i) {
    total += cut.leaves[i];
    least = std::min(least, cut.leaves[i]);
  }
  auto made = device->Update(1, 0);
  ASSERT_TRUE(made.ok()) << made.status();
  std::vector<int> counts(700);
  for (size_t k = 0; k < 4096; ++k) {
    const uint32_t slot = made->sample->slot[k];
    ASSERT_LT(slot, 700u);
    ++counts[slot];
    const double weight = std::pow(least / cut.leaves[slot], c.replay.beta_start);
    EXPECT_NEAR(made->sample->weight[k], weight, 1e-5);
    EXPECT_EQ(made->sample->generation[k], slot);
  }
  // Stratified: a row's count differs from its expectation by less than two.
  for (size_t i = 0; i < 700; ++i) {
    EXPECT_LT(std::abs(counts[i] - 4096 * cut.leaves[i] / total), 2.0) << i;
  }
}

TEST_F(DeviceUpdaterTest, GoesOnFromACutWithTheSameBytes) {
  Case c = SmallCase();
  const std::vector<float> features = Features(c.trainer);
  auto first = Device(c, features);
  ASSERT_TRUE(first->Insert(Rows(c.trainer, 26'000, 1)).ok());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(first->Update(4, 0).ok());
  const TrainerCut trainer = *first->SaveTrainer();
  ReplayCut replay;
  ASSERT_TRUE(first->SaveReplay(replay).ok());

  auto second = Device(c, features);
  ASSERT_TRUE(second->RestoreTrainer(trainer).ok());
  ASSERT_TRUE(second->RestoreReplay(replay).ok());
  for (Updater* updater : {first.get(), second.get()}) {
    ASSERT_TRUE(updater->Insert(Rows(c.trainer, 500, 2)).ok());
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(updater->Update(4, 0).ok());
  }
  EXPECT_EQ(Everything(*first), Everything(*second));

  replay.leaves[3] = -1;
  EXPECT_EQ(second->RestoreReplay(replay).code(), absl::StatusCode::kInvalidArgument);
}

// What a resume from weights alone restores: a count of updates, and Adam that begins anew.
TEST_F(DeviceUpdaterTest, GoesOnFromWeightsAloneAsTheCpuDoes) {
  Case c = SmallCase();
  c.trainer.target_period = 3;  // of the count of updates, not of Adam's steps
  c.replay.beta_updates = 2'000;
  const std::vector<float> features = Features(c.trainer);
  auto host = Host(c, features), device = Device(c, features);
  const std::vector<ReplayRow> rows = Rows(c.trainer, 15'000, 1);
  for (Updater* updater : {host.get(), device.get()}) {
    TrainerCut cut = *updater->SaveTrainer();
    EXPECT_EQ(cut.optimizer.steps, 0.0f);
    cut.updates = 1'000;
    ASSERT_TRUE(updater->RestoreTrainer(cut).ok());
    ASSERT_TRUE(updater->Insert(rows).ok());
  }
  ExpectSameUpdates(c, *host, *device, 5, 2e-3, 0.03);
  for (Updater* updater : {host.get(), device.get()}) {
    const TrainerCut cut = *updater->SaveTrainer();
    EXPECT_EQ(cut.updates, 1'005u);
    EXPECT_EQ(cut.optimizer.steps, 5.0f);
  }
}

TEST_F(DeviceUpdaterTest, ACutOfTheGpuGoesOnOnTheCpuAndTheOtherWayRound) {
  const Case c = SmallCase();
  const std::vector<float> features = Features(c.trainer);
  const std::vector<ReplayRow> rows = Rows(c.trainer, 26'000, 1);
  for (const bool from_gpu : {true, false}) {
    auto first = from_gpu ? Device(c, features) : Host(c, features);
    ASSERT_TRUE(first->Insert(rows).ok());
    while (first->updates() < 20) ASSERT_TRUE(first->Update(4, 0).ok());
    const TrainerCut trainer = *first->SaveTrainer();
    ReplayCut replay;
    ASSERT_TRUE(first->SaveReplay(replay).ok());

    auto host = Host(c, features), device = Device(c, features);
    for (Updater* updater : {host.get(), device.get()}) {
      ASSERT_TRUE(updater->RestoreTrainer(trainer).ok());
      ASSERT_TRUE(updater->RestoreReplay(replay).ok());
      EXPECT_EQ(updater->updates(), 20u);
      EXPECT_EQ(updater->inserted(), 26'000u);
      EXPECT_EQ(updater->Export(WeightsKind::kOnline)->values, trainer.online.values);
      ASSERT_TRUE(updater->Insert(Rows(c.trainer, 500, 2)).ok());
    }
    ExpectSameUpdates(c, *host, *device, 5, 2e-3, 0.03);
  }
}

TEST_F(DeviceUpdaterTest, NotANumberStopsBeforeItIsApplied) {
  const Case c = SmallCase();
  const std::vector<float> features = Features(c.trainer);
  auto device = Device(c, features);
  std::vector<ReplayRow> rows = Rows(c.trainer, 1000, 1);
  ASSERT_TRUE(device->Insert(rows).ok());
  ASSERT_TRUE(device->Update(4, 0).ok());
  const std::vector<float> before = Networks(*device);
  const uint64_t made_before = device->updates();
  device->SpoilReward(made_before + 1);
  const auto made = device->Update(16, 0);
  EXPECT_EQ(made.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(made.status().message()), testing::HasSubstr("loss nan at update 5 "));
  EXPECT_EQ(Networks(*device), before);
  EXPECT_TRUE(std::isnan((*device->minibatch())->reward[0]));
}

TEST_F(DeviceUpdaterTest, NotANumberInsideAGraphLeavesTheUpdatesBeforeIt) {
  const Case c = SmallCase();
  const std::vector<float> features = Features(c.trainer);
  auto spoiled = Device(c, features), whole = Device(c, features);
  const std::vector<ReplayRow> rows = Rows(c.trainer, 1000, 1);
  for (Updater* updater : {spoiled.get(), whole.get()}) {
    ASSERT_TRUE(updater->Insert(rows).ok());
    ASSERT_TRUE(updater->Update(16, 0).ok());
  }
  spoiled->SpoilReward(16 + 7);
  const auto made = spoiled->Update(16, 0);
  EXPECT_EQ(made.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(made.status().message()), testing::HasSubstr("loss nan at update 23 "));
  EXPECT_EQ(spoiled->updates(), 22u);
  for (const uint64_t updates : {4, 2}) ASSERT_TRUE(whole->Update(updates, 0).ok());
  EXPECT_EQ(Networks(*spoiled), Networks(*whole));
  const Minibatch& batch = **spoiled->minibatch();
  EXPECT_TRUE(std::isnan(batch.reward[0]));
  // The rest of it is what the next update of the other one draws.
  ASSERT_TRUE(whole->Update(1, 0).ok());
  const Minibatch& next = **whole->minibatch();
  EXPECT_EQ(batch.slot, next.slot);
  EXPECT_EQ(batch.states, next.states);
}

// The curiosity model of update 22 may still be trained when update 23 is found to have failed.
TEST_F(DeviceUpdaterTest, NotANumberInsideAGraphLeavesTheCuriosityModelOfTheUpdateBeforeIt) {
  const Case c = CuriousCase(SmallCase(), 2);
  const std::vector<float> features = Features(c.trainer);
  auto spoiled = Device(c, features), whole = Device(c, features);
  const std::vector<ReplayRow> rows = Rows(c.trainer, 1000, 1);
  for (Updater* updater : {spoiled.get(), whole.get()}) {
    ASSERT_TRUE(updater->Insert(rows).ok());
    ASSERT_TRUE(updater->Update(16, 0).ok());
  }
  spoiled->SpoilReward(16 + 7);
  EXPECT_EQ(spoiled->Update(16, 0).status().code(), absl::StatusCode::kDataLoss);
  for (const uint64_t updates : {4, 2}) ASSERT_TRUE(whole->Update(updates, 0).ok());
  EXPECT_EQ(spoiled->curiosity()->Export()->values, whole->curiosity()->Export()->values);
}

TEST_F(DeviceUpdaterTest, NotANumberInsideAGraphStopsTheRest) {
  const Case c = SmallCase();
  const std::vector<float> features = Features(c.trainer);
  auto device = Device(c, features);
  std::vector<ReplayRow> rows = Rows(c.trainer, 400, 1);
  // One row that is drawn soon, not at once.
  rows[17].reward = std::numeric_limits<float>::infinity();
  rows[17].td = 0.01f;
  ASSERT_TRUE(device->Insert(rows).ok());
  absl::Status status;
  std::vector<float> before;
  for (int i = 0; i < 100 && status.ok(); ++i) {
    before = Everything(*device);
    status = device->Update(16, 0).status();
  }
  ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss);
  const std::vector<float>& reward = (*device->minibatch())->reward;
  EXPECT_TRUE(std::any_of(reward.begin(), reward.end(), [](float r) { return std::isinf(r); }));
  const Parameters online = *device->Export(WeightsKind::kOnline);
  for (const float x : online.values) ASSERT_TRUE(std::isfinite(x));
}

TEST_F(DeviceUpdaterTest, AReplayThatDoesNotFitIsRefusedWithBothNumbers) {
  Case c = SmallCase();
  c.replay.capacity = uint64_t{1} << 42;
  const std::vector<float> features = Features(c.trainer);
  const auto made =
      MakeDeviceUpdater(c.device, c.replay, c.trainer, features, Weights(c, WeightsKind::kOnline),
                        Weights(c, WeightsKind::kTarget));
  EXPECT_EQ(made.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(made.status().message()), testing::HasSubstr("MiB free"));
}

TEST_F(DeviceUpdaterTest, TheRowsOfTheLastUpdateAreTheSampledOnes) {
  const Case c = SmallCase();
  const std::vector<float> features = Features(c.trainer);
  auto device = Device(c, features), host = Host(c, features);
  const std::vector<ReplayRow> rows = Rows(c.trainer, 3000, 1);
  // Half from pinned memory, half from elsewhere.
  const std::span<const ReplayRow> all(rows);
  const RowList pinned(rows.begin(), rows.begin() + 1500, device->row_memory());
  ASSERT_TRUE(device->Insert(pinned).ok());
  ASSERT_TRUE(device->Insert(all.subspan(1500)).ok());
  ASSERT_TRUE(host->Insert(rows).ok());
  ASSERT_TRUE(device->Update(1, 0).ok());
  ASSERT_TRUE(host->Update(1, 0).ok());
  CuriosityMinibatch ours(c.trainer.batch_size, c.trainer.architecture);
  CuriosityMinibatch theirs = ours;
  ASSERT_TRUE(device->GatherLast(ours).ok());
  ASSERT_TRUE(host->GatherLast(theirs).ok());
  EXPECT_EQ(device->size(), host->size());
  EXPECT_EQ(ours.input, theirs.input);
  EXPECT_EQ(ours.target, theirs.target);
  EXPECT_EQ((*device->minibatch())->states, (*host->minibatch())->states);
}

TEST_F(DeviceUpdaterTest, WideAndNarrowNetworksComputeAlike) {
  for (const uint32_t width : {16u, 320u, 512u, 1024u}) {
    Case c = DefaultCase();
    c.trainer.architecture.hidden1 = width;
    c.trainer.architecture.hidden2 = width;
    c.trainer.architecture.value_hidden = std::min(512u, width);
    c.trainer.architecture.advantage_hidden = std::min(512u, width);
    c.trainer.batch_size = 64;
    const std::vector<float> features = Features(c.trainer);
    auto host = Host(c, features), device = Device(c, features);
    const std::vector<ReplayRow> rows = Rows(c.trainer, 5'000, 1);
    ASSERT_TRUE(host->Insert(rows).ok());
    ASSERT_TRUE(device->Insert(rows).ok());
    ExpectSameUpdates(c, *host, *device, 2, 2e-3, 0.05);
  }
}

}  // namespace
}  // namespace vixen::learner
