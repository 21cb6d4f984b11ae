// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/sha256.h"
#include "kernels/collect/collector.h"
#include "vixen/v1/config.pb.h"

namespace vixen::server {

// What stays the same from an actor's start to its end. Shared read-only by all threads.
struct Run {
  uint64_t run_id = 0;
  v1::ExecutorSettings execution;
  kernels::CollectorOptions collector;
  kernels::CollectorFactory make_collector;
  std::string settings;         // serialized effective vixen.v1.EnvironmentSettings
  std::string settings_sha256;  // 32 bytes, of `settings`
  base::Sha256Digest dataset_fingerprint{};
  base::Sha256Digest scaler_fingerprint{};
  v1::StreamSettings limits;
  // Consecutive failed launches after which the actor gives up.
  int max_failed_launches = 5;
  bool miscount = false;  // a fault for tests: DeliveryOptions
};

// Random bits of the operating system.
uint64_t RandomRunId();

}  // namespace vixen::server
