// SPDX-License-Identifier: Apache-2.0
// Updates a second of the learner's replay and trainer, on the processor or a GPU: draw from a
// prioritised replay, gather, update, new priorities.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/learner/learner_bench_flags.h"
#include "learner/device/network_layout.h"
#include "learner/trainer/device.h"

namespace vixen::bench {

// Where and how it is measured.
struct LearnerBenchMachine {
  learner::Devices devices;
  int threads = 0;
  learner::DevicePrecision precision = learner::DevicePrecision::kFp32;
};

// One batch size; medians of the rounds.
struct UpdateRate {
  uint32_t batch_size = 0;
  uint64_t updates_at_once = 0;  // of one launch on a GPU
  double updates_per_second = 0, slowest = 0, fastest = 0;
  double cpu_ms_per_update = 0;
  double loss = 0;          // of the last update
  double gigaflop = 0;      // of an update (matrix_limit.h)
  double limit_gflops = 0;  // of a large product, measured by turns with the updates; 0: unknown
  double insert_ms = 0;     // a launch of 64,000 rows into the replay, until it can be drawn from

  double gflops() const { return updates_per_second * gigaflop; }
  double limit_updates_per_second() const { return limit_gflops / gigaflop; }
};

// To be called once, before any tensor exists. Usage errors for what the device cannot do.
absl::StatusOr<LearnerBenchMachine> SetUpLearnerBench(const LearnerBenchFlags& flags);

// `sink` gets each batch size's figures when they are measured.
absl::Status MeasureUpdates(const LearnerBenchFlags& flags, const LearnerBenchMachine& machine,
                            const std::function<void(const UpdateRate&)>& sink);

// "fp32", "tf32", "bf16".
std::string PrecisionName(learner::DevicePrecision precision);

}  // namespace vixen::bench
