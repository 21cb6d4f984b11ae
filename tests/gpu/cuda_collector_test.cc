// SPDX-License-Identifier: Apache-2.0
// The CUDA executor on a GPU whatever its algorithm: refusals, launches in flight, weights pushed
// meanwhile, what leaves fp16's range. Skipped where there is no GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "kernels/collect/cuda_collector.h"
#include "tests/gpu/cuda_world.h"

namespace vixen::kernels {
namespace {

TEST(CudaCollector, RefusesADeviceThatIsNotThere) {
  VIXEN_NEEDS_GPU();
  World world(4, 4);
  const auto collector = MakeCudaCollector(world.options, 93, CudaAlgorithm::kAuto);
  EXPECT_EQ(collector.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(collector.status().message().find("93"), std::string::npos);
}

TEST(CudaCollector, RefusesEpisodesBeyondMemoryWithTheNumbers) {
  VIXEN_NEEDS_GPU();
  World world(65'536, 65'536);
  const auto collector = MakeCudaCollector(world.options, 0, CudaAlgorithm::kAuto);
  EXPECT_EQ(collector.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(collector.status().message().find("would fit"), std::string::npos);
}

TEST(CudaCollector, RefusesAThirdLaunchInFlightAndALaunchWithoutWeights) {
  VIXEN_NEEDS_GPU();
  World world(16, 20);
  const auto collector = Make(world.options, CudaAlgorithm::kAuto);
  ASSERT_NE(collector, nullptr);
  Batch a(16, 20, false), b(16, 20, false), c(16, 20, false);
  const LaunchRequest request;
  EXPECT_EQ(collector->Launch(request, a).code(), absl::StatusCode::kFailedPrecondition);
  world.Push(*collector);
  ASSERT_TRUE(collector->Launch(request, a).ok());
  ASSERT_TRUE(collector->Launch(request, b).ok());
  EXPECT_EQ(collector->Launch(request, c).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(collector->Wait(a).ok());
  ASSERT_TRUE(collector->Wait(b).ok());
  EXPECT_EQ(std::memcmp(a.payload().data(), b.payload().data(), a.payload().size()), 0);
}

TEST(CudaCollector, LeavesLaunchesUnderWayTheWeightsThatTheyBeganWith) {
  VIXEN_NEEDS_GPU();
  World world(128, 500);
  const LaunchRequest request{
      .seed = 3, .launch = 0, .epsilon = 0.1f, .inputs = {}, .slot_states = {}};
  const auto alone = [&](const World& w) {
    auto batch = std::make_unique<Batch>(128, 500, true);
    const auto collector = Make(w.options, CudaAlgorithm::kAuto);
    w.Push(*collector);
    EXPECT_TRUE(collector->Launch(request, *batch).ok());
    EXPECT_TRUE(collector->Wait(*batch).ok());
    return batch;
  };
  World later = world;
  std::mt19937 random(99);
  later.online = world.RandomWeights(WeightsKind::kOnline, random);
  const auto expected_before = alone(world);
  const auto expected_after = alone(later);
  ASSERT_FALSE(SameBytes(*expected_before, *expected_after));

  const auto collector = Make(world.options, CudaAlgorithm::kAuto);
  ASSERT_NE(collector, nullptr);
  world.Push(*collector);
  Parameters broken = later.online;
  broken.values[7] = std::nanf("");
  for (int round = 0; round < 20; ++round) {
    Batch before(128, 500, true), after(128, 500, true);
    ASSERT_TRUE(collector->Launch(request, before).ok());
    // While it runs: a refusal changes nothing, a push waits for the next launch.
    EXPECT_EQ(collector->StageWeights(broken).status().code(), absl::StatusCode::kInvalidArgument);
    ASSERT_TRUE(collector->StageWeights(later.online).ok());
    collector->CommitWeights(WeightsKind::kOnline);
    ASSERT_TRUE(collector->Launch(request, after).ok());
    ASSERT_TRUE(collector->StageWeights(world.online).ok());
    collector->CommitWeights(WeightsKind::kOnline);
    ASSERT_TRUE(collector->Wait(before).ok());
    ASSERT_TRUE(collector->Wait(after).ok());
    EXPECT_TRUE(SameBytes(before, *expected_before)) << round;
    EXPECT_TRUE(SameBytes(after, *expected_after)) << round;
  }
}

TEST(CudaCollector, FallsBackToTf32WhenWeightsLeaveTheRangeOfFp16) {
  VIXEN_NEEDS_GPU();
  World world(40, 60);
  const auto collector = Make(world.options, CudaAlgorithm::kAuto);
  ASSERT_NE(collector, nullptr);
  EXPECT_EQ(collector->info().precision, Precision::kFp16);
  world.online.values[0] = 1e5f;
  world.Push(*collector);
  Batch batch(40, 60, false);
  ASSERT_TRUE(collector->Launch(LaunchRequest(), batch).ok());
  EXPECT_EQ(collector->info().precision, Precision::kTf32);
  ASSERT_TRUE(collector->Wait(batch).ok());
  CollectorOptions half = world.options;
  half.precision = Precision::kFp16;
  const auto strict = Make(half, CudaAlgorithm::kAuto);
  EXPECT_EQ(strict->StageWeights(world.online).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(CudaCollector, CountsTheActivationsThatFp16Clamps) {
  VIXEN_NEEDS_GPU();
  World world(40, 60);
  world.options.precision = Precision::kFp16;
  const auto clamped = [&] {
    const auto collector = Make(world.options, CudaAlgorithm::kAuto);
    world.Push(*collector);
    Batch batch(40, 60, false);
    EXPECT_TRUE(collector->Launch(LaunchRequest(), batch).ok());
    EXPECT_TRUE(collector->Wait(batch).ok());
    return batch.statistics.clamped_activations;
  };
  EXPECT_EQ(clamped(), 0u);
  // One neuron of layer 1 sees a weight that is in range and an activation that is not.
  for (const LayerLayout& layer : LayersOf(world.options.architecture, WeightsKind::kOnline)) {
    if (layer.inputs != world.options.architecture.hidden1) continue;
    for (uint32_t j = 0; j < layer.inputs; ++j) {
      world.online.values[layer.weight_offset + j] = 60'000.0f;
    }
    break;
  }
  const uint64_t count = clamped();
  EXPECT_GT(count, 0u);
  EXPECT_EQ(clamped(), count);
}

}  // namespace
}  // namespace vixen::kernels
