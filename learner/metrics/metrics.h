// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/env/settings.h"
#include "learner/client/run_book.h"
#include "learner/metrics/learner_health.h"
#include "proto/telemetry/metrics_server.h"
#include "vixen/v1/config.pb.h"

namespace vixen::learner {

// What the training thread's time goes to; it is in one of them at any moment but for moments.
enum class Activity {
  kSampling,     // drawing rows and gathering them
  kUpdating,     // gradient steps, priorities, curiosity
  kWaitingData,  // nothing may be sampled: no rows, or the limiter waits for inserts
  kInserting,
  kPushing,        // copying weights out for the pushers, which send on threads of their own
  kCheckpointing,  // the cut; the writing is on a thread of its own
  kReporting,      // training log, saved weights
};
inline constexpr size_t kActivities = 7;

// The learner's metrics: every label set is resolved once, here, so that the loop only touches
// numbers. docs/metrics.md lists them. Recording is thread-safe.
class Metrics {
 public:
  Metrics();

  prometheus::Counter& updates;
  prometheus::Counter& samples;
  prometheus::Counter& inserts;
  prometheus::Counter& batches;
  prometheus::Gauge& replay_rows;
  prometheus::Gauge& replay_capacity;
  prometheus::Gauge& loss;
  prometheus::Gauge& epsilon;
  prometheus::Gauge& online_version;
  prometheus::Histogram& staleness;
  prometheus::Histogram& sampled_age_versions;  // of some sampled rows
  prometheus::Histogram& sampled_age_seconds;
  prometheus::Histogram& sampled_td;  // |td| of some sampled rows
  prometheus::Histogram& sampled_q;   // Q of their actions
  prometheus::Gauge& mean_abs_td;     // these of the last second's updates
  prometheus::Gauge& mean_q;
  prometheus::Gauge& gradient_norm;
  prometheus::Gauge& clipped_share;
  prometheus::Gauge& effective_sample_share;
  prometheus::Counter& stale_priority_updates;
  prometheus::Counter& checkpoints_written;
  prometheus::Counter& checkpoints_failed;
  prometheus::Gauge& checkpoint_bytes;          // of the last one
  prometheus::Gauge& checkpoint_stop_seconds;   // that training stopped for it
  prometheus::Gauge& checkpoint_write_seconds;  // on the other thread
  std::array<prometheus::Gauge*, 5>
      reward_variance_share;                             // pnl, barrier, risk, diversity, curiosity
  std::array<prometheus::Gauge*, 5> exposure_share;      // short … long
  std::array<prometheus::Counter*, 4> priority_rejects;  // nan, +inf, −inf, negative
  prometheus::Counter& learner_waits;                    // seconds without rows that may be sampled
  prometheus::Counter& actor_waits;                      // seconds in which no actor holds credit
  prometheus::Gauge& learner_blocked;                    // 1 while it waits
  prometheus::Gauge& actor_blocked;

  prometheus::Gauge& checkpoint_time;    // Unix seconds of the last one written
  prometheus::Gauge& weights_live_time;  // Unix seconds of the last push that an actor
                                         // confirmed
  prometheus::Gauge& replay_bytes;       // of the full replay
  prometheus::Histogram& update_seconds;
  prometheus::Histogram& batch_age;  // seconds from an actor's end of a launch to the insert
  prometheus::Gauge& draining;

  void Spent(Activity activity, double seconds) {
    activities_[static_cast<size_t>(activity)]->Increment(seconds);
  }
  // The actions that there may be, before any is counted.
  void SetActions(std::span<const uint8_t> allowed);
  // Inserted rows by action.
  void CountActions(std::span<const uint64_t, kernels::kActions> rows);
  // Gauges of actors, and readiness.
  void SetActors(size_t configured, size_t connected, size_t ready);

  LearnerHealth& health() { return health_; }
  prometheus::Registry& registry() { return *registry_; }

  // Serves /metrics and the probes on HOST:PORT (port 0 chooses); returns the port. `book` must
  // outlive the metrics.
  absl::StatusOr<int> Serve(const v1::LearnerConfig& config, const std::string& device,
                            const RunBook& book);

 private:
  explicit Metrics(std::shared_ptr<prometheus::Registry> registry);

  std::shared_ptr<prometheus::Registry> registry_;
  std::array<prometheus::Counter*, kActivities> activities_{};
  std::array<prometheus::Gauge*, 3> actors_{};                     // configured, connected, ready
  std::array<prometheus::Counter*, kernels::kActions> actions_{};  // null: not allowed
  prometheus::Gauge* ready_ = nullptr;
  LearnerHealth health_;
  std::unique_ptr<telemetry::MetricsServer> server_;  // ends before what it serves
};

// Counts the time of a scope.
class Spending {
 public:
  Spending(Metrics& metrics, Activity activity) : metrics_(metrics), activity_(activity) {}
  ~Spending() { metrics_.Spent(activity_, seconds()); }
  Spending(const Spending&) = delete;
  Spending& operator=(const Spending&) = delete;

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  Metrics& metrics_;
  const Activity activity_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace vixen::learner
