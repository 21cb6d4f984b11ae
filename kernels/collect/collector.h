// SPDX-License-Identifier: Apache-2.0
// The executor behind an actor: runs launches of N episodes × L steps for one policy. Two
// implementations, CPU and CUDA, compute the same rules (kernels/env).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/sha256.h"
#include "kernels/batch/batch.h"
#include "kernels/env/settings.h"
#include "kernels/env/slot_state.h"
#include "kernels/nn/network.h"

namespace vixen::kernels {

enum class Precision : uint8_t { kAuto = 0, kFp32 = 1, kTf32 = 2, kFp16 = 3 };

// What stays the same for every launch of a collector.
struct CollectorOptions {
  EnvSettings settings;
  MarketView market;          // host memory; must outlive the collector
  Architecture architecture;  // architecture.features == market.feature_count
  uint32_t episodes = 128;    // N
  uint32_t steps = 500;       // L
  Precision precision = Precision::kAuto;
  int threads = 0;  // CPU: 0 = AvailableCpus(); results do not depend on it
};

// Widths, N, L, settings' ranges and their combinations against the specification: INVALID_ARGUMENT
// naming the setting, its value and the allowed range. Shared by both executors and the config
// check.
absl::Status CheckOptions(const CollectorOptions& options);

// Explicit beginnings for evaluation, golden cases and tests; empty spans: from (seed, launch).
struct ExplicitInputs {
  std::span<const uint32_t> rng;     // [N] LCG states
  std::span<const uint32_t> starts;  // [N] bars
  std::span<const uint8_t> actions;  // [N, L] scripted: taken as they are; flag 32 says "explored"
                                     // only where the draw would have explored
};

struct LaunchRequest {
  uint64_t seed = 0;    // the run seed used
  uint64_t launch = 0;  // k
  float epsilon = 0.0f;
  ExplicitInputs inputs;
  // With `carry_over`, replaces the states kept from launch k−1 (resume, audit). Empty otherwise.
  std::span<const SlotState> slot_states;
};

// Answer of a staged set of weights: proof that what the executor holds is what was sent.
struct WeightsProbe {
  std::vector<float> values;  // online, target: 45 Q-values at ProbeState; curiosity: E outputs at
                              // its first E entries with category flat
  base::Sha256Digest sha256;  // of the parameters read back from where the launch will read them
  Precision precision;        // that computed `values`
};

struct CollectorInfo {
  std::string executor;   // "cpu" or "cuda"
  std::string device;     // "AMD EPYC …, 2 threads" / "NVIDIA L4 …"
  std::string algorithm;  // "batched phases", "resident", "resident_single", "tiled", …
  std::string reason;     // why this one
  Precision precision = Precision::kFp32;
  uint64_t workspace_bytes = 0;
  std::string memory_plan;  // what the workspace goes to, beside what is free; CUDA only
  std::string pci_bus_id;   // "0000:3B:00.0" of the GPU, to find it in NVML; else empty
};

// DATA_LOSS from any call: the device is lost (an illegal access, a fallen GPU, an uncorrectable
// memory error); every later call fails with it, and only a new process gets the device back.
// Not thread-safe: one thread (the collector thread) calls everything, except that StageWeights may
// run concurrently with Launch from another thread: it touches the inactive buffer only.
class Collector {
 public:
  virtual ~Collector() = default;

  virtual const CollectorInfo& info() const = 0;

  // Checks and copies `parameters` into the inactive buffer of its kind and probes it there. On
  // error (INVALID_ARGUMENT: architecture, range; INTERNAL: device) the live weights are as before.
  virtual absl::StatusOr<WeightsProbe> StageWeights(const Parameters& parameters) = 0;
  // Makes the staged buffer of `kind` the one that the next launch reads.
  virtual void CommitWeights(WeightsKind kind) = 0;

  // A batch whose memory is right for this executor (pinned, for CUDA); it may outlive the
  // collector and be given back from any thread. Launch takes other batches too, and copies slower.
  virtual Batch MakeBatch(bool with_terms) = 0;

  // FAILED_PRECONDITION while weights that the settings need were never committed.
  virtual absl::Status CanLaunch() const = 0;

  // Starts a launch that fills `batch` (shape N × L; must live until Wait). No allocation of note
  // inside. The CPU executor computes on the calling thread and its pool and returns when done.
  virtual absl::Status Launch(const LaunchRequest& request, Batch& batch) = 0;
  // Returns when the launch that fills `batch` is complete and its rows are in host memory.
  virtual absl::Status Wait(Batch& batch) = 0;

  // Slot states after the last completed launch, [N].
  virtual std::vector<SlotState> SlotStates() = 0;
};

using CollectorFactory =
    std::function<absl::StatusOr<std::unique_ptr<Collector>>(const CollectorOptions&)>;

absl::StatusOr<std::unique_ptr<Collector>> MakeCpuCollector(const CollectorOptions& options);

}  // namespace vixen::kernels
