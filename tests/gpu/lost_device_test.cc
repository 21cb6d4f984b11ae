// SPDX-License-Identifier: Apache-2.0
// Its own program: after the fault this process has no device any more.
#include <gtest/gtest.h>

#include "kernels/collect/cuda_collector.h"
#include "kernels/cuda/device.h"
#include "tests/kernels/test_policy.h"

namespace vixen::kernels {

void LoseTheDevice();

namespace {

TEST(LostDevice, EveryCallFailsWithDataLossFromThenOn) {
  if (!QueryCudaDevice(0).ok()) GTEST_SKIP() << "no GPU here";
  const bench::RandomMarket market(4096, Architecture().features, 1);
  CollectorOptions options;
  options.market = market.view;
  options.steps = 16;
  auto collector = MakeCudaCollector(options, 0, CudaAlgorithm::kAuto);
  ASSERT_TRUE(collector.ok()) << collector.status();
  for (const auto kind : {WeightsKind::kOnline, WeightsKind::kTarget, WeightsKind::kCuriosity}) {
    ASSERT_TRUE(
        (*collector)->StageWeights(bench::RandomParameters(options.architecture, kind, 1)).ok());
    (*collector)->CommitWeights(kind);
  }
  Batch batch = (*collector)->MakeBatch(true);
  const LaunchRequest request{
      .seed = 1, .launch = 0, .epsilon = 0, .inputs = {}, .slot_states = {}};
  ASSERT_TRUE((*collector)->Launch(request, batch).ok());
  ASSERT_TRUE((*collector)->Wait(batch).ok());

  ASSERT_TRUE((*collector)->Launch(request, batch).ok());
  LoseTheDevice();
  absl::Status status = (*collector)->Wait(batch);
  // The launch may have been complete before the fault; then the next one meets it.
  if (status.ok()) status = (*collector)->Launch(request, batch);
  if (status.ok()) status = (*collector)->Wait(batch);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_EQ((*collector)->CanLaunch().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ((*collector)->Launch(request, batch).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(
      (*collector)
          ->StageWeights(bench::RandomParameters(options.architecture, WeightsKind::kOnline, 2))
          .status()
          .code(),
      absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace vixen::kernels
