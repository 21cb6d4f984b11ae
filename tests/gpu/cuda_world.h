// SPDX-License-Identifier: Apache-2.0
// What the tests of the CUDA executor run on.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "kernels/batch/batch.h"
#include "kernels/collect/algorithm.h"
#include "kernels/collect/collector.h"

namespace vixen::kernels {

// A random walk with random features and weights: what a launch of any size can run on.
struct World {
  std::vector<float> features, targets;
  std::vector<uint8_t> last;
  CollectorOptions options;
  Parameters online, target, curiosity;

  World(uint32_t episodes, uint32_t steps, uint32_t bars = 20'000, Architecture architecture = {});
  Parameters RandomWeights(WeightsKind kind, std::mt19937& random) const;
  void Push(Collector& collector) const;
};

bool HasGpu();
#define VIXEN_NEEDS_GPU() \
  if (!HasGpu()) GTEST_SKIP() << "no GPU here"

// Null, and the test has failed, where there is none.
std::unique_ptr<Collector> Make(const CollectorOptions& options, CudaAlgorithm algorithm);

bool SameBytes(const Batch& a, const Batch& b);

}  // namespace vixen::kernels
