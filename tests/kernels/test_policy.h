// SPDX-License-Identifier: Apache-2.0
// Random markets and weights, and collectors made of them, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "bench/kernels/random_policy.h"
#include "kernels/collect/collector.h"

namespace vixen::kernels {

inline Architecture SmallArchitecture() {
  Architecture architecture;
  architecture.features = 5;
  architecture.hidden1 = 32;
  architecture.hidden2 = 48;
  architecture.value_hidden = 16;
  architecture.advantage_hidden = 32;
  architecture.curiosity_hidden = 16;
  return architecture;
}

inline CollectorOptions SmallOptions(const bench::RandomMarket& market) {
  CollectorOptions options;
  options.market = market.view;
  options.architecture = SmallArchitecture();
  options.episodes = 37;
  options.steps = 60;
  options.threads = 2;
  options.settings.profit_target_bps = 40.0f;
  options.settings.stop_loss_bps = 30.0f;
  return options;
}

// With all three kinds of weights live.
inline std::unique_ptr<Collector> ReadyCollector(const CollectorOptions& options) {
  absl::StatusOr<std::unique_ptr<Collector>> collector = MakeCpuCollector(options);
  if (!collector.ok()) {
    ADD_FAILURE() << collector.status();
    return nullptr;
  }
  for (const auto kind : {WeightsKind::kOnline, WeightsKind::kTarget, WeightsKind::kCuriosity}) {
    const auto probe = (*collector)
                           ->StageWeights(bench::RandomParameters(
                               options.architecture, kind, 10 + static_cast<uint64_t>(kind)));
    EXPECT_TRUE(probe.ok()) << probe.status();
    (*collector)->CommitWeights(kind);
  }
  return *std::move(collector);
}

inline std::string PayloadOf(const Batch& batch) {
  const std::span<const std::byte> bytes = batch.payload();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

inline LaunchRequest Request(uint64_t launch, float epsilon = 0.3f) {
  LaunchRequest request;
  request.seed = 7;
  request.launch = launch;
  request.epsilon = epsilon;
  return request;
}

}  // namespace vixen::kernels
