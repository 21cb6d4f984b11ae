// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>

#include "proto/telemetry/metrics_server.h"

namespace vixen::learner {

// What the learner's probes say (/startupz, /readyz, /livez beside /metrics), each with its reason:
//   startup      actor found, dataset and checkpoint loaded
//   readiness    some actor gives batches
//   liveness     the training loop turns; never fails during the start or the end
// Thread-safe.
class LearnerHealth {
 public:
  // One turn of the loop takes no longer, whatever it does.
  static constexpr std::chrono::seconds kLongestTurn{30};

  // What the start is at: "fetching the dataset".
  void Enter(std::string phase);
  // The loop begins; from here on it must Beat.
  void Started();
  void Beat() { beat_ = Clock::now().time_since_epoch().count(); }
  // The loop has ended.
  void Draining();
  void SetActors(size_t ready, size_t all);

  telemetry::ProbeAnswer Startup() const;
  telemetry::ProbeAnswer Readiness() const;
  telemetry::ProbeAnswer Liveness() const;

 private:
  using Clock = std::chrono::steady_clock;

  const Clock::time_point began_ = Clock::now();
  std::atomic<Clock::rep> beat_ = 0;
  mutable std::mutex mutex_;
  std::string phase_ = "starting";
  bool started_ = false;
  bool draining_ = false;
  size_t ready_ = 0;
  size_t actors_ = 0;
};

}  // namespace vixen::learner
