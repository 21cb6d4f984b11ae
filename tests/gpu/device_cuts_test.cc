// SPDX-License-Identifier: Apache-2.0
// Cuts of a learner on the GPU, and what a number that is none leaves behind.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "tests/gpu/device_updater_fixture.h"

namespace vixen::learner {
namespace {

std::vector<float> Networks(const Updater& updater) {
  std::vector<float> both;
  for (const WeightsKind kind : {WeightsKind::kOnline, WeightsKind::kTarget}) {
    const Parameters parameters = *updater.Export(kind);
    both.insert(both.end(), parameters.values.begin(), parameters.values.end());
  }
  return both;
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

// Its rows' priorities are set while it is found out that it failed: all of them or none, and what
// lies above them with them.
TEST_F(DeviceUpdaterTest, NotANumberInsideAGraphLeavesPrioritiesWhole) {
  for (const uint32_t batch : {100u, 2048u}) {
    Case c = SmallCase();
    c.trainer.batch_size = batch;
    const std::vector<float> features = Features(c.trainer);
    const std::vector<ReplayRow> rows = Rows(c.trainer, 18'000, 1);
    std::vector<double> first;
    for (int run = 0; run < 20; ++run) {
      auto device = Device(c, features);
      ASSERT_TRUE(device->Insert(rows).ok());
      device->SpoilReward(7);
      ASSERT_EQ(device->Update(16, 0).status().code(), absl::StatusCode::kDataLoss);
      ReplayCut cut;
      ASSERT_TRUE(device->SaveReplay(cut).ok());
      const std::vector<double> leaves(cut.leaves.begin(), cut.leaves.begin() + 18'000);
      const double total = std::accumulate(leaves.begin(), leaves.end(), 0.0);
      const double least = *std::min_element(leaves.begin(), leaves.end());
      const auto share = device->LeastShare();  // from the tree's nodes
      ASSERT_TRUE(share.ok()) << share.status();
      EXPECT_NEAR(*share * total / least, 1.0, 1e-12) << run;
      if (run == 0) first = leaves;
      EXPECT_EQ(leaves, first) << run;
    }
  }
}

TEST_F(DeviceUpdaterTest, AnUpdateThatLosesARankLeavesNothingAndMustBeginItsExchangeAnew) {
  Case c = SmallCase();
  bool lost = false;
  c.device.average = [&lost](std::span<float> /*values*/) {
    return lost ? absl::UnavailableError("rank 1 is gone") : absl::OkStatus();
  };
  const std::vector<float> features = Features(c.trainer);
  auto broken = Device(c, features), whole = Device(c, features);
  for (Updater* updater : {broken.get(), whole.get()}) {
    ASSERT_TRUE(updater->Insert(Rows(c.trainer, 1000, 1)).ok());
    ASSERT_TRUE(updater->Update(1, 0).ok());
  }
  lost = true;
  EXPECT_EQ(broken->Update(1, 0).status().code(), absl::StatusCode::kUnavailable);
  lost = false;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(broken->Update(1, 0).status().code(), absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_EQ(broken->updates(), 1u);
  EXPECT_EQ(Everything(*broken), Everything(*whole));
  ASSERT_TRUE(broken->AverageThroughHost().ok());
  for (Updater* updater : {broken.get(), whole.get()}) {
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(updater->Update(1, 0).ok());
  }
  EXPECT_EQ(Everything(*broken), Everything(*whole));
}

TEST_F(DeviceUpdaterTest, AloneThereIsNothingToAverageWith) {
  const Case c = SmallCase();
  const std::vector<float> features = Features(c.trainer);
  auto device = Device(c, features);
  EXPECT_EQ(device->AverageThroughHost().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(device->Insert(Rows(c.trainer, 1000, 1)).ok());
  EXPECT_TRUE(device->Update(4, 0).ok());
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

}  // namespace
}  // namespace vixen::learner
