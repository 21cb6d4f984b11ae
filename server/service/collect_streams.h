// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "server/metrics/actor_metrics.h"

namespace vixen::server {

class CollectStream;

// All live Collect streams, and the thread that evicts those whose peer takes nothing. Thread-safe.
class CollectStreams {
 public:
  CollectStreams(uint32_t max_streams, std::chrono::duration<double> progress_deadline,
                 ActorMetrics& metrics);
  ~CollectStreams();

  // RESOURCE_EXHAUSTED above max_streams.
  absl::Status Add(const std::shared_ptr<CollectStream>& stream);
  // It takes no more part and counts no longer; still watched until it is removed. Idempotent.
  void Leave(const CollectStream* stream);
  void Remove(const CollectStream* stream);

  void DrainAll();
  void AbortAll(const absl::Status& status);
  // True when no stream is left before `deadline`.
  bool WaitUntilEmpty(std::chrono::steady_clock::time_point deadline);

 private:
  std::vector<std::shared_ptr<CollectStream>> All();
  void LeaveLocked(const CollectStream* stream);
  void Watch();

  const uint32_t max_streams_;
  const std::chrono::steady_clock::duration deadline_;
  ActorMetrics& metrics_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  struct Entry {
    std::weak_ptr<CollectStream> stream;
    bool active = true;
  };
  std::unordered_map<const CollectStream*, Entry> streams_;
  uint32_t active_ = 0;
  std::thread watch_;
};

}  // namespace vixen::server
