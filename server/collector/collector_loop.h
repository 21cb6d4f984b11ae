// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "server/collector/policy.h"
#include "server/collector/run.h"

namespace vixen::server {

// The collector thread: the only one that launches. It goes round the policies and launches where
// all needed weights are live and some group pays, swaps weights in between launches, labels each
// batch with what the launch read, and publishes it. An executor that computes asynchronously has
// two launches under way, so that one is copied out while the next one runs.
class CollectorLoop {
 public:
  // `on_fatal` is called at most once, from the collector thread: when too many launches in a row
  // failed, or the executor lost its device.
  CollectorLoop(const Run& run, Policies& policies, ActorMetrics& metrics,
                std::function<void(absl::Status)> on_fatal);
  ~CollectorLoop();

  void Start();
  // Something changed: credit, weights. Any thread, never blocks.
  void Notify();
  // Begins no further launch; what is under way is finished and published. Returns when it is.
  void Stop();

  // For how long the launch under way has run, when that is longer than `deadline` and than ten
  // times the longest launch that is known; else nothing. A zero deadline: never. Any thread.
  std::optional<std::chrono::duration<double>> StuckFor(
      std::chrono::duration<double> deadline) const;
  // What a launch is expected to take, from a trial before the first one.
  void Expect(std::chrono::duration<double> launch) { NoteLaunch(launch.count()); }

 private:
  struct Launch {
    std::shared_ptr<Policy> policy;
    Delivery::Ticket ticket;
    std::shared_ptr<FinishedBatch> batch;
    std::chrono::steady_clock::time_point started;
  };

  void Loop();
  bool LaunchSome();
  bool TryLaunch(const std::shared_ptr<Policy>& policy);
  void CompleteOldest();
  void LaunchFailed(const Launch& launch, const absl::Status& status);
  void GiveUp(const absl::Status& status);
  void WaitForChange(uint64_t seen);
  void NoteLaunch(double seconds);
  void SetOldest(std::chrono::steady_clock::time_point began);

  const Run& run_;
  Policies& policies_;
  ActorMetrics& metrics_;
  const std::function<void(absl::Status)> on_fatal_;

  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t changes_ = 0;
  bool stopping_ = false;

  std::atomic<std::chrono::steady_clock::rep> oldest_began_ =
      0;  // of what is under way; 0: nothing
  std::atomic<double> longest_seconds_ = 0;

  std::deque<Launch> under_way_;
  size_t depth_ = 1;
  int failed_in_a_row_ = 0;
  std::thread thread_;
};

}  // namespace vixen::server
