// SPDX-License-Identifier: Apache-2.0
#include "server/metrics/actor_metrics.h"

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

// Half a millisecond to over four minutes, by factors of two.
prometheus::Histogram::BucketBoundaries LaunchBuckets() {
  prometheus::Histogram::BucketBoundaries buckets(20);
  double bound = 0.0005;
  for (double& bucket : buckets) {
    bucket = bound;
    bound *= 2;
  }
  return buckets;
}

}  // namespace

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

ActorMetrics::ActorMetrics(std::string_view executor, std::string_view device)
    : registry_(std::make_shared<prometheus::Registry>()) {
  prometheus::Registry& registry = *registry_;
  BuildGauge()
      .Name("vixen_build_info")
      .Help("Always 1; what runs here")
      .Register(registry)
      .Add({{"version", std::string(base::Version())},
            {"program", "vixen-actor"},
            {"executor", std::string(executor)},
            {"device", std::string(device)}})
      .Set(1);
  auto& waiting = BuildCounter()
                      .Name("vixen_collector_waiting_seconds_total")
                      .Help("Time without a launch, by what it waited for")
                      .Register(registry);
  waiting_credit = &waiting.Add({{"cause", "credit"}});
  waiting_weights = &waiting.Add({{"cause", "weights"}});
  waiting_consumers = &waiting.Add({{"cause", "consumers"}});
  busy = &BuildCounter()
              .Name("vixen_collector_busy_seconds_total")
              .Help("Time inside launches")
              .Register(registry)
              .Add({});
  streams = &BuildGauge()
                 .Name("vixen_streams_open")
                 .Help("Collect streams open now")
                 .Register(registry)
                 .Add({});
  streams_opened = &BuildCounter()
                        .Name("vixen_streams_opened_total")
                        .Help("Collect streams that were opened")
                        .Register(registry)
                        .Add({});
  streams_evicted = &BuildCounter()
                         .Name("vixen_streams_evicted_total")
                         .Help("Collect streams ended because the peer took nothing")
                         .Register(registry)
                         .Add({});
  connections_turned_away = &BuildCounter()
                                 .Name("vixen_connections_turned_away_total")
                                 .Help("Connections closed because file descriptors were short")
                                 .Register(registry)
                                 .Add({});
  sent_bytes = &BuildCounter()
                    .Name("vixen_stream_sent_bytes_total")
                    .Help("Payload bytes written to Collect streams")
                    .Register(registry)
                    .Add({});
  sent_batches = &BuildCounter()
                      .Name("vixen_stream_sent_batches_total")
                      .Help("Batches written to the end, resends included")
                      .Register(registry)
                      .Add({});
  draining =
      &BuildGauge().Name("vixen_draining").Help("1 while stopping").Register(registry).Add({});
  ready = &BuildGauge()
               .Name("vixen_ready")
               .Help("1 while the services answer")
               .Register(registry)
               .Add({});
  auto& rejected = BuildCounter()
                       .Name("vixen_weights_rejected_total")
                       .Help("Refused pushes by reason")
                       .Register(registry);
  for (size_t i = 0; i < kWeightsRefusals; ++i) {
    weights_rejected[i] = &rejected.Add({{"reason", kRefusals[i]}});
  }
  transitions_ = &BuildCounter()
                      .Name("vixen_transitions_total")
                      .Help("Valid rows that launches produced")
                      .Register(registry);
  batches_ = &BuildCounter()
                  .Name("vixen_batches_total")
                  .Help("Batches that launches produced")
                  .Register(registry);
  launches_ =
      &BuildCounter().Name("vixen_launches_total").Help("Launches started").Register(registry);
  failed_launches_ = &BuildCounter()
                          .Name("vixen_failed_launches_total")
                          .Help("Launches that failed and gave no batch")
                          .Register(registry);
  episodes_ =
      &BuildCounter().Name("vixen_episodes_total").Help("Episodes that ended").Register(registry);
  launch_seconds_ = &BuildHistogram()
                         .Name("vixen_launch_seconds")
                         .Help("From start of a launch to its rows in host memory")
                         .Register(registry);
  epsilon_ = &BuildGauge()
                  .Name("vixen_epsilon_ratio")
                  .Help("Exploration of the latest launch")
                  .Register(registry);
  weights_version_ = &BuildGauge()
                          .Name("vixen_weights_version")
                          .Help("Version that the latest launch read")
                          .Register(registry);
  weights_applied_ = &BuildCounter()
                          .Name("vixen_weights_applied_total")
                          .Help("Accepted pushes")
                          .Register(registry);
  weights_skipped_ = &BuildGauge()
                          .Name("vixen_weights_skipped")
                          .Help("Accepted versions replaced before a launch read them")
                          .Register(registry);
  reward_terms_ = &BuildCounter()
                       .Name("vixen_reward_term_sum_total")
                       .Help("Sums of a launch's reward terms, gains and charges apart")
                       .Register(registry);
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
