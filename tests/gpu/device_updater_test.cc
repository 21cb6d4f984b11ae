// SPDX-License-Identifier: Apache-2.0
// Updates on the GPU against those on the CPU: precisions, options, widths, curiosity.
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "tests/gpu/device_updater_fixture.h"

namespace vixen::learner {
namespace {

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
INSTANTIATE_TEST_SUITE_P(DeviceUpdaterTest, SameBytes,
                         testing::Values(256u, 1024u, 8192u, 20'000u));

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
