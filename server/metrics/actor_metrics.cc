// SPDX-License-Identifier: Apache-2.0
#include "server/metrics/actor_metrics.h"

#include "absl/status/status.h"
#include "base/version.h"
#include "kernels/nn/network.h"

namespace vixen::server {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;

constexpr std::array<const char*, kernels::kRewardTerms> kTerms = {"pnl", "barrier", "risk",
                                                                   "diversity", "curiosity"};
constexpr std::array<const char*, kWeightsRefusals> kRefusals = {"invalid", "precondition", "stale",
                                                                 "limit", "internal"};

constexpr std::array<const char*, kActivities> kActivityNames = {
    "launching", "copying", "waiting_credit", "waiting_weights", "waiting_consumers", "sending"};

prometheus::Histogram::BucketBoundaries Doubling(double first, size_t count) {
  prometheus::Histogram::BucketBoundaries buckets(count);
  double bound = first;
  for (double& bucket : buckets) {
    bucket = bound;
    bound *= 2;
  }
  return buckets;
}

// Half a millisecond to over four minutes.
prometheus::Histogram::BucketBoundaries LaunchBuckets() { return Doubling(0.0005, 20); }

// A quarter of a millisecond (a chunk on loopback) to over half a minute (the progress deadline).
prometheus::Histogram::BucketBoundaries WriteBuckets() { return Doubling(0.00025, 18); }

}  // namespace

void PolicyMetrics::WeightsApplied(size_t kind) const {
  weights_applied[kind]->Increment();
  weights_pushed_at[kind]->SetToCurrentTime();
}

void PolicyMetrics::AddStatistics(const kernels::LaunchStatistics& statistics) const {
  transitions->Increment(static_cast<double>(statistics.valid_rows));
  episodes->Increment(static_cast<double>(statistics.episodes_ended));
  for (size_t term = 0; term < kernels::kRewardTerms; ++term) {
    const double sum = statistics.term_sum[term];
    if (sum >= 0) {
      reward_terms[2 * term]->Increment(sum);
    } else {
      reward_terms[2 * term + 1]->Increment(-sum);
    }
  }
}

ActorMetrics::ActorMetrics() : registry_(std::make_shared<prometheus::Registry>()) {
  prometheus::Registry& registry = *registry_;
  const auto counter = [&](const char* name, const char* help) {
    return &BuildCounter().Name(name).Help(help).Register(registry);
  };
  const auto gauge = [&](const char* name, const char* help) {
    return &BuildGauge().Name(name).Help(help).Register(registry);
  };
  build_info_ = gauge("vixen_build_info", "Always 1; what runs here");
  auto* const activity =
      counter("vixen_actor_activity_seconds_total", "Time by what the actor was doing");
  for (size_t i = 0; i < kActivities; ++i) {
    activities_[i] = &activity->Add({{"activity", kActivityNames[i]}});
  }
  streams = &gauge("vixen_streams_open", "Collect streams open now")->Add({});
  streams_opened =
      &counter("vixen_streams_opened_total", "Collect streams that were opened")->Add({});
  auto* const closed =
      counter("vixen_streams_closed_total", "Collect streams that ended, by gRPC status");
  for (size_t code = 0; code < kStatusCodes; ++code) {
    const std::string name = absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
    streams_closed[code] = &closed->Add({{"code", name}});
  }
  streams_evicted =
      &counter("vixen_streams_evicted_total", "Collect streams ended because the peer took nothing")
           ->Add({});
  connections_turned_away = &counter("vixen_connections_turned_away_total",
                                     "Connections closed because file descriptors were short")
                                 ->Add({});
  sent_bytes = &counter("vixen_stream_sent_bytes_total", "Payload bytes written to Collect streams")
                    ->Add({});
  sent_batches =
      &counter("vixen_stream_sent_batches_total", "Batches written to the end, resends included")
           ->Add({});
  write_seconds = &BuildHistogram()
                       .Name("vixen_stream_write_seconds")
                       .Help("Time until a Collect stream took one message")
                       .Register(registry)
                       .Add({}, WriteBuckets());
  ready = &gauge("vixen_ready", "1 while learners can be served: the readiness probe")->Add({});
  live = &gauge("vixen_live", "1 while no restart is needed: the liveness probe")->Add({});
  live->Set(1);
  draining = &gauge("vixen_draining", "1 while stopping")->Add({});
  device_lost = &gauge("vixen_device_lost",
                       "1 when the executor's device is lost: only a new process gets it back")
                     ->Add({});
  startup_seconds =
      &gauge("vixen_startup_seconds", "From the start to the first readiness; 0 before")->Add({});
  learners_needed =
      &gauge("vixen_learners_needed", "Learners like those here that would keep this actor busy")
           ->Add({});
  learners_needed->Set(1);
  auto* const rejected = counter("vixen_weights_rejected_total", "Refused pushes by reason");
  for (size_t i = 0; i < kWeightsRefusals; ++i) {
    weights_rejected[i] = &rejected->Add({{"reason", kRefusals[i]}});
  }
  transitions_ = counter("vixen_transitions_total", "Valid rows that launches produced");
  batches_ = counter("vixen_batches_total", "Batches that launches produced");
  launches_ = counter("vixen_launches_total", "Launches started");
  failed_launches_ =
      counter("vixen_failed_launches_total", "Launches that failed and gave no batch");
  episodes_ = counter("vixen_episodes_total", "Episodes that ended");
  launch_seconds_ = &BuildHistogram()
                         .Name("vixen_launch_seconds")
                         .Help("From start of a launch to its rows in host memory")
                         .Register(registry);
  epsilon_ = gauge("vixen_epsilon_ratio", "Exploration of the latest launch");
  weights_version_ = gauge("vixen_weights_version", "Version that the latest launch read");
  weights_applied_ = counter("vixen_weights_applied_total", "Accepted pushes");
  weights_pushed_at_ =
      gauge("vixen_weights_last_push_timestamp_seconds", "When the last push was accepted");
  weights_skipped_ = counter("vixen_weights_skipped_total",
                             "Accepted versions replaced before a launch read them");
  reward_terms_ = counter("vixen_reward_term_sum_total",
                          "Sums of a launch's reward terms, gains and charges apart");
}

void ActorMetrics::SetExecutor(std::string_view executor, std::string_view device) {
  build_info_
      ->Add({{"version", std::string(base::Version())},
             {"program", "vixen-actor"},
             {"executor", std::string(executor)},
             {"device", std::string(device)}})
      .Set(1);
}

void ActorMetrics::Spent(Activity activity, double seconds) {
  activities_[static_cast<size_t>(activity)]->Increment(seconds);
  if (activity == Activity::kLaunching) load_.Add(seconds, 0);
  if (activity == Activity::kWaitingCredit) load_.Add(0, seconds);
}

void ActorMetrics::EstimateLearners(uint32_t max_streams) {
  learners_needed->Set(load_.LearnersNeeded(static_cast<uint32_t>(streams->Value()), max_streams));
}

PolicyMetrics ActorMetrics::ForPolicy(const std::string& policy) {
  const prometheus::Labels labels = {{"policy", policy}};
  PolicyMetrics metrics;
  metrics.transitions = &transitions_->Add(labels);
  metrics.batches = &batches_->Add(labels);
  metrics.launches = &launches_->Add(labels);
  metrics.failed_launches = &failed_launches_->Add(labels);
  metrics.episodes = &episodes_->Add(labels);
  metrics.launch_seconds = &launch_seconds_->Add(labels, LaunchBuckets());
  metrics.epsilon = &epsilon_->Add(labels);
  metrics.weights_skipped = &weights_skipped_->Add(labels);
  for (size_t kind = 0; kind < metrics.weights_version.size(); ++kind) {
    const std::string name(kernels::WeightsKindName(static_cast<kernels::WeightsKind>(kind)));
    metrics.weights_version[kind] = &weights_version_->Add({{"policy", policy}, {"kind", name}});
    metrics.weights_applied[kind] = &weights_applied_->Add({{"policy", policy}, {"kind", name}});
    metrics.weights_pushed_at[kind] =
        &weights_pushed_at_->Add({{"policy", policy}, {"kind", name}});
  }
  for (size_t term = 0; term < kernels::kRewardTerms; ++term) {
    metrics.reward_terms[2 * term] =
        &reward_terms_->Add({{"policy", policy}, {"term", kTerms[term]}, {"sign", "gain"}});
    metrics.reward_terms[2 * term + 1] =
        &reward_terms_->Add({{"policy", policy}, {"term", kTerms[term]}, {"sign", "charge"}});
  }
  return metrics;
}

}  // namespace vixen::server
