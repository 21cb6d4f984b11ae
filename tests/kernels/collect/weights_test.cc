// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <thread>

#include "tests/kernels/test_policy.h"

namespace vixen::kernels {
namespace {

TEST(Weights, AreNeededBeforeALaunch) {
  const bench::RandomMarket market(500, 5, 1);
  const CollectorOptions options = SmallOptions(market);
  auto collector = MakeCpuCollector(options);
  ASSERT_TRUE(collector.ok());
  for (const auto kind : {WeightsKind::kOnline, WeightsKind::kTarget, WeightsKind::kCuriosity}) {
    const absl::Status status = (*collector)->CanLaunch();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(status.ToString().find(std::string(WeightsKindName(kind))), std::string::npos);
    ASSERT_TRUE(
        (*collector)->StageWeights(bench::RandomParameters(options.architecture, kind, 1)).ok());
    EXPECT_FALSE((*collector)->CanLaunch().ok()) << "staged is not live";
    (*collector)->CommitWeights(kind);
  }
  EXPECT_TRUE((*collector)->CanLaunch().ok());
}

TEST(Weights, AreProbedWhereTheyWillBeRead) {
  const bench::RandomMarket market(500, 5, 1);
  const CollectorOptions options = SmallOptions(market);
  const auto collector = ReadyCollector(options);
  for (const auto kind : {WeightsKind::kOnline, WeightsKind::kTarget, WeightsKind::kCuriosity}) {
    const Parameters parameters = bench::RandomParameters(options.architecture, kind, 3);
    const auto probe = collector->StageWeights(parameters);
    ASSERT_TRUE(probe.ok()) << probe.status();
    EXPECT_EQ(probe->sha256, ParametersSha256(parameters));
    EXPECT_EQ(probe->precision, Precision::kFp32);
    EXPECT_EQ(probe->values.size(), kind == WeightsKind::kCuriosity
                                        ? options.architecture.embedding()
                                        : static_cast<size_t>(kActions));
    float least = probe->values[0];
    float most = least;
    for (const float value : probe->values) {
      ASSERT_TRUE(std::isfinite(value));
      least = std::min(least, value);
      most = std::max(most, value);
    }
    EXPECT_LT(least, most);
  }
}

TEST(Weights, StayLiveUntilTheNextOnesAreCommitted) {
  const bench::RandomMarket market(500, 5, 1);
  const CollectorOptions options = SmallOptions(market);
  const auto collector = ReadyCollector(options);
  Batch batch(options.episodes, options.steps, false);
  ASSERT_TRUE(collector->Launch({}, batch).ok());
  const std::string before = PayloadOf(batch);
  ASSERT_TRUE(
      collector
          ->StageWeights(bench::RandomParameters(options.architecture, WeightsKind::kOnline, 99))
          .ok());
  ASSERT_TRUE(collector->Launch({}, batch).ok());
  EXPECT_TRUE(PayloadOf(batch) == before);
  collector->CommitWeights(WeightsKind::kOnline);
  ASSERT_TRUE(collector->Launch({}, batch).ok());
  EXPECT_FALSE(PayloadOf(batch) == before);
}

TEST(Weights, ThatAreRefusedLeaveTheLiveOnes) {
  const bench::RandomMarket market(500, 5, 1);
  const CollectorOptions options = SmallOptions(market);
  const auto collector = ReadyCollector(options);
  Batch batch(options.episodes, options.steps, false);
  ASSERT_TRUE(collector->Launch({}, batch).ok());
  const std::string before = PayloadOf(batch);

  Parameters bad = bench::RandomParameters(options.architecture, WeightsKind::kOnline, 1);
  const LayerLayout layer = LayersOf(options.architecture, WeightsKind::kOnline)[5];
  bad.values[layer.bias_offset + 2] = std::numeric_limits<float>::infinity();
  absl::Status status = collector->StageWeights(bad).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("advantage_layers.1.bias[2]"), std::string::npos) << status;

  Architecture other = options.architecture;
  other.hidden1 = 64;
  status =
      collector->StageWeights(bench::RandomParameters(other, WeightsKind::kOnline, 1)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);

  collector->CommitWeights(WeightsKind::kOnline);
  ASSERT_TRUE(collector->Launch({}, batch).ok());
  EXPECT_TRUE(PayloadOf(batch) == before);
}

TEST(Weights, CanBeStagedBesideALaunch) {
  const bench::RandomMarket market(500, 5, 1);
  const CollectorOptions options = SmallOptions(market);
  const auto collector = ReadyCollector(options);
  Batch batch(options.episodes, options.steps, false);
  ASSERT_TRUE(collector->Launch({}, batch).ok());
  const std::string before = PayloadOf(batch);
  std::atomic<bool> stop = false;
  std::thread stager([&] {
    const Parameters parameters =
        bench::RandomParameters(options.architecture, WeightsKind::kOnline, 50);
    do {
      EXPECT_TRUE(collector->StageWeights(parameters).ok());
    } while (!stop);
  });
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(collector->Launch({}, batch).ok());
    EXPECT_TRUE(PayloadOf(batch) == before);
  }
  stop = true;
  stager.join();
}

}  // namespace
}  // namespace vixen::kernels
