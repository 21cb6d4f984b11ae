// SPDX-License-Identifier: Apache-2.0
// Draws and priorities of the replay on the GPU.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "tests/gpu/device_updater_fixture.h"

namespace vixen::learner {
namespace {

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

}  // namespace
}  // namespace vixen::learner
