// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/cuda_world.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/collect/cuda_collector.h"
#include "kernels/cuda/device.h"

namespace vixen::kernels {

World::World(uint32_t episodes, uint32_t steps, uint32_t bars, Architecture architecture) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  features.resize(size_t{bars} * architecture.features);
  for (float& value : features) value = normal(random);
  targets.resize(size_t{bars} * 4);
  last.resize(bars);
  double price = 100;
  for (uint32_t b = 0; b < bars; ++b) {
    const double next = price * std::exp(5e-4 * normal(random));
    float* row = &targets[size_t{b} * 4];
    row[0] = static_cast<float>(price);
    row[1] = static_cast<float>(next);
    row[2] = static_cast<float>(std::max(price, next) * 1.0002);
    row[3] = static_cast<float>(std::min(price, next) * 0.9998);
    price = static_cast<float>(next);
    last[b] = b % 3000 == 2999 || b + 1 == bars;
  }
  options.market = {.features = features.data(),
                    .targets = targets.data(),
                    .last = last.data(),
                    .bars = bars,
                    .feature_count = architecture.features,
                    .begin = 0,
                    .end = bars};
  options.architecture = architecture;
  options.episodes = episodes;
  options.steps = steps;
  online = RandomWeights(WeightsKind::kOnline, random);
  target = RandomWeights(WeightsKind::kTarget, random);
  curiosity = RandomWeights(WeightsKind::kCuriosity, random);
}

Parameters World::RandomWeights(WeightsKind kind, std::mt19937& random) const {
  Parameters parameters;
  parameters.architecture = options.architecture;
  parameters.kind = kind;
  parameters.values.resize(ParameterCount(options.architecture, kind));
  for (const LayerLayout& layer : LayersOf(options.architecture, kind)) {
    const float bound = 1.0f / std::sqrt(static_cast<float>(layer.inputs));
    std::uniform_real_distribution<float> uniform(-bound, bound);
    const size_t end = layer.bias_offset + layer.outputs;
    for (size_t i = layer.weight_offset; i < end; ++i) parameters.values[i] = uniform(random);
  }
  return parameters;
}

void World::Push(Collector& collector) const {
  for (const Parameters* parameters : {&online, &target, &curiosity}) {
    const auto probe = collector.StageWeights(*parameters);
    ASSERT_TRUE(probe.ok()) << probe.status();
    EXPECT_EQ(probe->sha256, ParametersSha256(*parameters));
    collector.CommitWeights(parameters->kind);
  }
}

bool HasGpu() { return QueryCudaDevices().ok() && !QueryCudaDevices()->empty(); }

std::unique_ptr<Collector> Make(const CollectorOptions& options, CudaAlgorithm algorithm) {
  auto collector = MakeCudaCollector(options, 0, algorithm);
  EXPECT_TRUE(collector.ok()) << collector.status();
  return collector.ok() ? *std::move(collector) : nullptr;
}

bool SameBytes(const Batch& a, const Batch& b) {
  return a.payload().size() == b.payload().size() &&
         std::memcmp(a.payload().data(), b.payload().data(), a.payload().size()) == 0 &&
         std::memcmp(&a.statistics, &b.statistics, sizeof(a.statistics)) == 0;
}

}  // namespace vixen::kernels
