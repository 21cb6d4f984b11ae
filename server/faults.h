// SPDX-License-Identifier: Apache-2.0
// Faults committed on purpose (`fault`, only with `allow_faults`): probes, drains and alerts are
// tried out on the real binary with them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "kernels/collect/collector.h"
#include "vixen/v1/config.pb.h"

namespace vixen::server {

struct Faults {
  std::chrono::duration<double> slow_start{0};  // the load takes so much longer
  std::optional<uint64_t> stuck_launch;         // the n-th launch (from 0) never ends
  std::optional<uint64_t> lost_device;          // the n-th launch loses the device, as CUDA would
  std::optional<std::chrono::duration<double>> gpu_lost;  // NVML says so after so long
  bool forget_finish = false;                             // Collect streams never end their call
  bool miscount = false;  // every sheet says one acknowledged or durable batch too few

  // Usage errors name the fault, and allow_faults where it is missing.
  static absl::StatusOr<Faults> Parse(const v1::FaultSettings& settings);
};

// Executors that commit the faults of launches; others come as they are.
kernels::CollectorFactory WithFaults(const Faults& faults, kernels::CollectorFactory make);

}  // namespace vixen::server
