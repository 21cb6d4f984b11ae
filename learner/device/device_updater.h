// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/nn/network.h"
#include "learner/device/network_layout.h"
#include "learner/replay/replay.h"
#include "learner/trainer/trainer.h"
#include "learner/trainer/updater.h"

namespace vixen::learner {

// Training of the curiosity model, by every `period`-th update and on its rows.
struct CuriosityTraining {
  uint32_t period = 10;
  double learning_rate = 1e-3;
  kernels::Parameters weights;
};

struct DeviceUpdaterOptions {
  int gpu = 0;
  DevicePrecision precision = DevicePrecision::kTf32;
  PassAlgorithm algorithm = PassAlgorithm::kBest;  // another one than the best is for comparisons
  uint64_t updates_a_graph = 16;  // most updates of one graph launch; a power of two
  // The mean over all ranks, in place, or an error; none: alone. Until JoinRanks each launch makes
  // one update then.
  std::function<absl::Status(std::span<float>)> average;
  bool joins_ranks = false;  // JoinRanks may come: leaves kNcclBytes of the GPU free for it
  // None: there is no such model, or another trains it. Only alone and where TrainsCuriosity.
  std::optional<CuriosityTraining> curiosity;
};

// Whether the GPU can train the curiosity model of such networks beside its updates.
bool TrainsCuriosity(const kernels::Architecture& architecture);

// GPUs that an updater may take; 0 where this build or machine has none.
int UpdaterGpus();
// UNAVAILABLE with the cause where this build or machine cannot.
absl::Status CheckDeviceUpdater(int gpu);
// Where precision is left to us: tf32 from compute capability 8.0 on, else fp32.
DevicePrecision BestDevicePrecision(int gpu);

// Replay rows, priorities, dataset features and networks live in the GPU's memory; an update is
// eight kernels of one CUDA graph, and up to updates_a_graph of them run without the host. The same
// rows, weights and options give the same bits on the same kind of device: no sum depends on
// timing. Rows enter through pinned memory. `features` [T, F] is copied. Memory: 65 bytes a row of
// capacity, the features, and some megabytes; FAILED_PRECONDITION naming both numbers when the
// device has less free, or when it cannot do `precision`; UNAVAILABLE as CheckDeviceUpdater.
absl::StatusOr<std::unique_ptr<Updater>> MakeDeviceUpdater(const DeviceUpdaterOptions& device,
                                                           const ReplayOptions& replay,
                                                           const TrainerOptions& trainer,
                                                           std::span<const float> features,
                                                           const kernels::Parameters& online,
                                                           const kernels::Parameters& target);

}  // namespace vixen::learner
