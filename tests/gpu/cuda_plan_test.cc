// SPDX-License-Identifier: Apache-2.0
// What a CUDA executor needs of memory, and what happens where there is no driver: on machines
// without a GPU as well.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/collect/cuda_collector.h"
#include "kernels/collect/cuda_dataset.h"
#include "kernels/collect/cuda_memory_plan.h"
#include "kernels/cuda/device.h"

namespace vixen::kernels {
namespace {

TEST(CudaExecutor, PlansTheDatasetOfTwoMillionBars) {
  CollectorOptions options;
  options.market.bars = 2'000'000;
  options.market.feature_count = 51;
  const MemoryPlan plan = PlanMemory(options, CudaAlgorithm::kTiled, false, uint64_t{4} << 30);
  EXPECT_GT(plan.total(), uint64_t{2'000'000} * (52 * 4 + 17 + 128));
  EXPECT_LT(plan.total(), plan.free_bytes);
  EXPECT_NE(plan.Describe().find("dataset"), std::string::npos);
}

TEST(CudaExecutor, CountsTheDatasetOnceForAllPolicies) {
  CollectorOptions options;
  options.market.bars = 1'000'000;
  options.market.feature_count = 51;
  const uint64_t first = PlanMemory(options, CudaAlgorithm::kTiled, false, 0).total();
  const uint64_t second = PlanMemory(options, CudaAlgorithm::kTiled, true, 0).total();
  EXPECT_EQ(first - second, DeviceDataset::BytesOf(options.market, true) +
                                DeviceDataset::UploadBytesOf(options.market));
}

TEST(CudaExecutor, RefusesWhatDoesNotFitWithWhatWould) {
  CollectorOptions options;
  options.market.bars = 100'000;
  options.market.feature_count = 51;
  options.episodes = 65'536;
  const MemoryPlan plan = PlanMemory(options, CudaAlgorithm::kTiled, false, uint64_t{4} << 30);
  const absl::Status status = plan.CheckFits(options, 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("gpu 1"), std::string::npos);
  EXPECT_NE(status.message().find("4.00 GiB free"), std::string::npos);
  const size_t at = status.message().find("about ");
  ASSERT_NE(at, std::string::npos);
  options.episodes =
      static_cast<uint32_t>(std::stoul(std::string(status.message().substr(at + 6))));
  EXPECT_GT(options.episodes, 10'000u);
  EXPECT_TRUE(PlanMemory(options, CudaAlgorithm::kTiled, false, plan.free_bytes)
                  .CheckFits(options, 1)
                  .ok());
  options.episodes += options.episodes / 50;
  EXPECT_FALSE(PlanMemory(options, CudaAlgorithm::kTiled, false, plan.free_bytes)
                   .CheckFits(options, 1)
                   .ok());
}

TEST(CudaExecutor, PlansProductsForSteppedAloneWhateverThePrecision) {
  CollectorOptions options;
  options.market.bars = 1000;
  options.market.feature_count = 51;
  const auto products = [&](CudaAlgorithm algorithm, Precision precision) {
    options.precision = precision;
    const MemoryPlan plan = PlanMemory(options, algorithm, false, 0);
    const auto part = std::find_if(plan.parts.begin(), plan.parts.end(),
                                   [](const auto& p) { return p.name == "products"; });
    return part == plan.parts.end() ? ~uint64_t{0} : part->bytes;
  };
  for (const Precision precision : {Precision::kFp16, Precision::kTf32, Precision::kFp32}) {
    EXPECT_EQ(products(CudaAlgorithm::kResident, precision), 0u);
    EXPECT_EQ(products(CudaAlgorithm::kTiledMma, precision), 0u);
    EXPECT_GT(products(CudaAlgorithm::kStepped, precision), uint64_t{32} << 20);
  }
}

TEST(CudaCollector, SaysThatThereIsNoGpuWhereThereIsNone) {
  if (QueryCudaDevices().ok()) GTEST_SKIP() << "there is a GPU here";
  CollectorOptions options;
  const std::vector<float> features(51 * 4), targets(16, 1.0f);
  const std::vector<uint8_t> last = {0, 0, 0, 1};
  options.market = {features.data(), targets.data(), last.data(), 4, 51, 0, 4};
  const auto collector = MakeCudaCollector(options, 0, CudaAlgorithm::kAuto);
  EXPECT_EQ(collector.status().code(), absl::StatusCode::kUnavailable) << collector.status();
}

}  // namespace
}  // namespace vixen::kernels
