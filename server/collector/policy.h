// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/collector/run.h"
#include "server/metrics/actor_metrics.h"
#include "server/stream/delivery.h"
#include "server/weights/policy_weights.h"

namespace vixen::server {

// One named set of weights with its launches, its consumers and its books. Thread-safe as its parts
// say.
struct Policy {
  Policy(const Run& run, std::string policy_name, PolicyMetrics policy_metrics,
         std::function<void()> on_change);

  const std::string name;
  const uint64_t run_seed;
  PolicyMetrics metrics;
  Delivery delivery;
  PolicyWeights weights;
  std::atomic<uint64_t> launches = 0;  // next launch number

  // "weights: target", "credit", "consumers" (they have credit, but retain_batches wait for them
  // already), or "" while it can launch.
  std::string WaitingFor() const;
};

// Names of policies, groups and consumers: [A-Za-z0-9._-]{1,64}. INVALID_ARGUMENT naming `what`.
absl::Status CheckName(std::string_view what, std::string_view name);

// All policies of the run. A policy begins with its first stream or its first weights; only those
// with weights count against max_policies. Thread-safe.
class Policies {
 public:
  Policies(const Run& run, ActorMetrics& metrics, std::function<void()> on_change)
      : run_(run), metrics_(metrics), on_change_(std::move(on_change)) {}

  std::shared_ptr<Policy> Find(const std::string& name) const;
  // Those that have weights or a stream.
  std::vector<std::shared_ptr<Policy>> All() const;
  // RESOURCE_EXHAUSTED when there are too many.
  absl::StatusOr<std::shared_ptr<Policy>> FindOrAdd(const std::string& name);
  // RESOURCE_EXHAUSTED when `name` would be one more policy with weights than allowed.
  absl::Status CheckRoomForWeights(const std::string& name) const;
  void StopAllCredit();

 private:
  void RemoveUnusedLocked();

  const Run& run_;
  ActorMetrics& metrics_;
  const std::function<void()> on_change_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Policy>> policies_;
  bool stopped_ = false;
};

}  // namespace vixen::server
