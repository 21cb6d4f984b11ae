// SPDX-License-Identifier: Apache-2.0
// The host side of the CUDA executor, on machines without a GPU as well: weight images, memory
// plan, names, and what happens where there is no driver.
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/collect/cuda_collector.h"
#include "kernels/collect/cuda_executor.h"
#include "kernels/collect/cuda_tile_layout.h"
#include "kernels/collect/cuda_weights.h"

namespace vixen::kernels {
namespace {

// Parameter i has the value i mod 2,048, which fp16 holds exactly.
Parameters Numbered(WeightsKind kind) {
  Parameters parameters{Architecture{}, kind, {}};
  parameters.values.resize(ParameterCount(parameters.architecture, kind));
  for (size_t i = 0; i < parameters.values.size(); ++i) {
    parameters.values[i] = static_cast<float>(i % 2048);
  }
  return parameters;
}

double HalfAt(const std::vector<std::byte>& image, size_t offset) {
  uint16_t bits;
  std::memcpy(&bits, image.data() + offset, sizeof(bits));
  return __half2float(__ushort_as_half(bits));
}

double SumOfWeights(const Parameters& parameters) {
  double sum = 0;
  for (const LayerLayout& layer : LayersOf(parameters.architecture, parameters.kind)) {
    for (size_t i = layer.weight_offset; i < layer.bias_offset; ++i) sum += parameters.values[i];
  }
  return sum;
}

TEST(CudaWeights, KeepTheParametersAsTheyCame) {
  const Parameters parameters = Numbered(WeightsKind::kOnline);
  const WeightsLayout layout = LayOutWeights(parameters.architecture, parameters.kind);
  const std::vector<std::byte> image = BuildWeightsImage(layout, parameters);
  EXPECT_EQ(std::memcmp(image.data() + layout.parameters, parameters.values.data(),
                        parameters.values.size() * sizeof(float)),
            0);
}

TEST(CudaWeights, PutEveryMatrixWeightOnceIntoTheTiles) {
  const Parameters parameters = Numbered(WeightsKind::kOnline);
  const WeightsLayout layout = LayOutWeights(parameters.architecture, parameters.kind);
  ASSERT_TRUE(layout.has_images);
  const std::vector<std::byte> image = BuildWeightsImage(layout, parameters);
  double sum = 0;
  for (size_t i = 0; i < tile::kPassBytes; i += 2) sum += HalfAt(image, layout.tile + i);
  // The value stream's last weights stay with the biases, in float32.
  const LayerLayout value = LayersOf(parameters.architecture, parameters.kind)[3];
  double value_sum = 0;
  for (size_t i = value.weight_offset; i < value.bias_offset; ++i) {
    value_sum += parameters.values[i];
  }
  EXPECT_EQ(sum, SumOfWeights(parameters) - value_sum);
}

TEST(CudaWeights, PutEveryMatrixWeightOnceIntoTheFragments) {
  const Parameters parameters = Numbered(WeightsKind::kTarget);
  const WeightsLayout layout = LayOutWeights(parameters.architecture, parameters.kind);
  const std::vector<std::byte> image = BuildWeightsImage(layout, parameters);
  double sum = 0;
  for (size_t i = 0; i < tile::kResidentBytes; i += 2) sum += HalfAt(image, layout.resident + i);
  EXPECT_EQ(sum, SumOfWeights(parameters));
}

TEST(CudaWeights, SwizzleTilesWithoutOverlap) {
  std::vector<bool> seen(tile::TileBytes(48) / 2);
  for (int row = 0; row < 48; ++row) {
    for (int k = 0; k < 64; ++k) {
      const size_t place = tile::TileOffset(row, k) / 2;
      ASSERT_LT(place, seen.size());
      EXPECT_FALSE(seen[place]);
      seen[place] = true;
    }
  }
}

TEST(CudaWeights, TakeEveryStateColumnOnce) {
  std::vector<int> count(tile::kStateWidth);
  for (int k = 0; k < tile::kStateWidth; ++k) count[tile::StateColumn(k)] += 1;
  EXPECT_EQ(count, std::vector<int>(tile::kStateWidth, 1));
}

TEST(CudaWeights, SayWhetherFp16HoldsThem) {
  Parameters parameters = Numbered(WeightsKind::kCuriosity);
  EXPECT_TRUE(FitsFp16(parameters));
  parameters.values[3] = -65'536.0f;
  EXPECT_FALSE(FitsFp16(parameters));
}

TEST(CudaExecutor, PlansTheDatasetOfTwoMillionBars) {
  CollectorOptions options;
  options.market.bars = 2'000'000;
  options.market.feature_count = 51;
  const MemoryPlan plan = PlanMemory(options, true, uint64_t{4} << 30);
  EXPECT_GT(plan.total(), uint64_t{2'000'000} * (52 * 4 + 17 + 128));
  EXPECT_LT(plan.total(), plan.free_bytes);
  EXPECT_NE(plan.Describe().find("dataset"), std::string::npos);
}

TEST(CudaExecutor, NamesTheAlgorithmsThatThereAre) {
  EXPECT_EQ(*ParseCudaAlgorithm("tiled"), CudaAlgorithm::kTiled);
  const auto wrong = ParseCudaAlgorithm("quick");
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(wrong.status().message().find("quick"), std::string::npos);
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
