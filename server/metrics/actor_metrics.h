// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/batch/statistics.h"
#include "kernels/collect/collector.h"
#include "server/metrics/load_estimate.h"

namespace vixen::server {

// The series of one policy, resolved once: nothing is looked up by label on a hot path. Pointers
// live as long as ActorMetrics.
struct PolicyMetrics {
  prometheus::Counter* transitions = nullptr;
  prometheus::Counter* batches = nullptr;
  prometheus::Counter* launches = nullptr;
  prometheus::Counter* failed_launches = nullptr;
  prometheus::Counter* episodes = nullptr;
  prometheus::Histogram* launch_seconds = nullptr;
  prometheus::Gauge* epsilon = nullptr;
  std::array<prometheus::Gauge*, 3> weights_version{};  // by kernels::WeightsKind; read by launches
  std::array<prometheus::Counter*, 3> weights_applied{};  // accepted pushes
  std::array<prometheus::Gauge*, 3> weights_pushed_at{};  // Unix seconds of the last accepted push
  prometheus::Counter* weights_skipped = nullptr;
  std::array<prometheus::Counter*, 2 * kernels::kRewardTerms> reward_terms{};  // positive, negative

  void WeightsApplied(size_t kind) const;
  void AddStatistics(const kernels::LaunchStatistics& statistics) const;
};

// Why a push was refused, as a label: the status codes that PushWeights has.
enum class WeightsRefusal { kInvalid, kPrecondition, kStale, kLimit, kInternal };
inline constexpr size_t kWeightsRefusals = 5;

// What the actor's time goes to. The collector thread is in one of the first five at any moment;
// encoding in another layout counts as copying too, on a thread of its own; sending is the sum over
// the streams of the time with a write under way.
enum class Activity {
  kLaunching,
  kCopying,
  kWaitingCredit,
  kWaitingWeights,
  kWaitingConsumers,  // they have credit, and do not take
  kSending,
};
inline constexpr size_t kActivities = 6;

// Ends of Collect streams are counted by gRPC's 17 status codes.
inline constexpr size_t kStatusCodes = 17;

// Every metric of the actor. Names: docs/metrics.md. Thread-safe.
class ActorMetrics {
 public:
  ActorMetrics();

  // Adds vixen_build_info: once, when the executor is known.
  void SetExecutor(std::string_view executor, std::string_view device);

  // At most max_policies + max_streams distinct names in a run reach this.
  PolicyMetrics ForPolicy(const std::string& policy);

  const std::shared_ptr<prometheus::Registry>& registry() const { return registry_; }

  void Spent(Activity activity, double seconds);
  // Brings vixen_learners_needed up to date.
  void EstimateLearners(uint32_t max_streams);

  prometheus::Gauge* streams = nullptr;
  prometheus::Counter* streams_opened = nullptr;
  prometheus::Counter* streams_evicted = nullptr;
  prometheus::Counter* connections_turned_away = nullptr;
  prometheus::Counter* sent_bytes = nullptr;
  prometheus::Counter* sent_batches = nullptr;
  std::array<prometheus::Counter*, kStatusCodes> streams_closed{};
  prometheus::Histogram* write_seconds = nullptr;
  prometheus::Gauge* draining = nullptr;
  prometheus::Gauge* ready = nullptr;
  prometheus::Gauge* live = nullptr;
  prometheus::Gauge* device_lost = nullptr;
  prometheus::Gauge* startup_seconds = nullptr;
  prometheus::Gauge* learners_needed = nullptr;
  std::array<prometheus::Counter*, kWeightsRefusals> weights_rejected{};

 private:
  std::shared_ptr<prometheus::Registry> registry_;
  std::array<prometheus::Counter*, kActivities> activities_{};
  LoadEstimate load_;
  prometheus::Family<prometheus::Gauge>* build_info_;
  prometheus::Family<prometheus::Counter>* transitions_;
  prometheus::Family<prometheus::Counter>* batches_;
  prometheus::Family<prometheus::Counter>* launches_;
  prometheus::Family<prometheus::Counter>* failed_launches_;
  prometheus::Family<prometheus::Counter>* episodes_;
  prometheus::Family<prometheus::Histogram>* launch_seconds_;
  prometheus::Family<prometheus::Gauge>* epsilon_;
  prometheus::Family<prometheus::Gauge>* weights_version_;
  prometheus::Family<prometheus::Counter>* weights_applied_;
  prometheus::Family<prometheus::Gauge>* weights_pushed_at_;
  prometheus::Family<prometheus::Counter>* weights_skipped_;
  prometheus::Family<prometheus::Counter>* reward_terms_;
};

}  // namespace vixen::server
