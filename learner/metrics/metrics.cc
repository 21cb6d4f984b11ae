// SPDX-License-Identifier: Apache-2.0
#include "learner/metrics/metrics.h"

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <map>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/version.h"
#include "proto/telemetry/log.h"
#include "proto/telemetry/process_collector.h"
#include "proto/telemetry/tls_collector.h"
#include "proto/transport/certificates.h"

namespace vixen::learner {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;

prometheus::Counter& CounterOf(prometheus::Registry& registry, const char* name, const char* help,
                               const prometheus::Labels& labels = {}) {
  return BuildCounter().Name(name).Help(help).Register(registry).Add(labels);
}
prometheus::Gauge& GaugeOf(prometheus::Registry& registry, const char* name, const char* help,
                           const prometheus::Labels& labels = {}) {
  return BuildGauge().Name(name).Help(help).Register(registry).Add(labels);
}

// The books at the moment of the scrape. Run ids would be labels without bound: live and ended runs
// of an actor are summed instead.
class Sheets : public prometheus::Collectable {
 public:
  explicit Sheets(const RunBook& book) : book_(book) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    std::map<std::pair<std::string, bool>, std::map<std::string, v1::Amount>> sums;
    const auto add = [](v1::Amount& to, const v1::Amount& from) {
      to.set_batches(to.batches() + from.batches());
      to.set_rows(to.rows() + from.rows());
    };
    for (const v1::LearnerSheet& sheet : book_.Sheets()) {
      auto& states = sums[{sheet.actor(), sheet.ended()}];
      add(states["received"], sheet.received());
      add(states["inserted"], sheet.inserted());
      add(states["duplicate"], sheet.duplicate());
      add(states["durable"], sheet.durable());
      add(states["lost_with_predecessor"], sheet.lost_with_predecessor());
      for (const auto& [reason, amount] : sheet.rejected())
        add(states["rejected_" + reason], amount);
    }
    prometheus::MetricFamily rows{"vixen_learner_sheet_rows",
                                  "Valid rows by what became of them",
                                  prometheus::MetricType::Gauge,
                                  {}};
    prometheus::MetricFamily batches{"vixen_learner_sheet_batches",
                                     "Batches by what became of them",
                                     prometheus::MetricType::Gauge,
                                     {}};
    for (const auto& [key, states] : sums) {
      for (const auto& [state, amount] : states) {
        prometheus::ClientMetric metric;
        metric.label = {
            {"actor", key.first}, {"run", key.second ? "ended" : "live"}, {"state", state}};
        metric.gauge.value = static_cast<double>(amount.rows());
        rows.metric.push_back(metric);
        metric.gauge.value = static_cast<double>(amount.batches());
        batches.metric.push_back(metric);
      }
    }
    return {rows, batches};
  }

 private:
  const RunBook& book_;
};

// Whether the training loop turns, at the moment of the scrape.
class Liveness : public prometheus::Collectable {
 public:
  explicit Liveness(const LearnerHealth& health) : health_(health) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    return {telemetry::Single("vixen_live", "1 while no restart is needed: the liveness probe",
                              prometheus::MetricType::Gauge, health_.Liveness().ok ? 1 : 0)};
  }

 private:
  const LearnerHealth& health_;
};

}  // namespace

Metrics::Metrics() : Metrics(std::make_shared<prometheus::Registry>()) {}

Metrics::Metrics(std::shared_ptr<prometheus::Registry> registry)
    : updates(CounterOf(*registry, "vixen_learner_updates_total", "Gradient updates")),
      samples(CounterOf(*registry, "vixen_learner_samples_total", "Rows drawn for updates")),
      inserts(CounterOf(*registry, "vixen_replay_inserts_total", "Rows inserted into the replay")),
      batches(CounterOf(*registry, "vixen_learner_batches_total", "Batches received")),
      replay_rows(GaugeOf(*registry, "vixen_replay_rows", "Rows in the replay")),
      replay_capacity(GaugeOf(*registry, "vixen_replay_capacity_rows", "Most rows in the replay")),
      loss(GaugeOf(*registry, "vixen_learner_loss", "Mean loss of the last second's updates")),
      epsilon(
          GaugeOf(*registry, "vixen_learner_epsilon_ratio", "Exploration sent with the weights")),
      online_version(GaugeOf(*registry, "vixen_learner_weights_version",
                             "Version of the newest online weights")),
      staleness(BuildHistogram()
                    .Name("vixen_policy_staleness_versions")
                    .Help("Own online version minus the one that a received batch was made with")
                    .Register(*registry)
                    .Add({}, prometheus::Histogram::BucketBoundaries{0, 1, 2, 3, 4, 6, 8, 16, 32,
                                                                     64, 128})),
      sampled_age_versions(
          BuildHistogram()
              .Name("vixen_replay_sampled_age_versions")
              .Help("Own online version minus the one that a sampled row was made with (one row in "
                    "16)")
              .Register(*registry)
              .Add({}, prometheus::Histogram::BucketBoundaries{0, 1, 2, 4, 8, 16, 32, 64, 128, 256,
                                                               1024, 4096})),
      sampled_age_seconds(
          BuildHistogram()
              .Name("vixen_replay_sampled_age_seconds")
              .Help("Time since a sampled row was inserted (one row in 16)")
              .Register(*registry)
              .Add({}, prometheus::Histogram::BucketBoundaries{0.1, 0.3, 1, 3, 10, 30, 100, 300,
                                                               1000, 3000, 10000})),
      sampled_td(BuildHistogram()
                     .Name("vixen_learner_sampled_td")
                     .Help("|td| of sampled rows (one row in 16)")
                     .Register(*registry)
                     .Add({}, prometheus::Histogram::BucketBoundaries{0.0001, 0.0003, 0.001, 0.003,
                                                                      0.01, 0.03, 0.1, 0.3, 1, 3,
                                                                      10, 30, 100, 1000})),
      sampled_q(BuildHistogram()
                    .Name("vixen_learner_sampled_q")
                    .Help("Q of the taken action of sampled rows (one row in 16)")
                    .Register(*registry)
                    .Add({}, prometheus::Histogram::BucketBoundaries{-1000, -100, -30, -10, -3, -1,
                                                                     -0.3, -0.1, 0, 0.1, 0.3, 1, 3,
                                                                     10, 30, 100, 1000})),
      mean_abs_td(
          GaugeOf(*registry, "vixen_learner_td_error", "Mean |td| of the last second's updates")),
      mean_q(GaugeOf(*registry, "vixen_learner_q", "Mean Q of the last second's updates")),
      gradient_norm(GaugeOf(*registry, "vixen_learner_gradient_norm",
                            "Mean norm before clipping of the last second's updates")),
      clipped_share(GaugeOf(*registry, "vixen_learner_clipped_ratio",
                            "Share of sampled rows beyond the Huber limit, last second")),
      effective_sample_share(GaugeOf(
          *registry, "vixen_learner_effective_samples_ratio",
          "Effective sample size of the importance weights over the batch size, last second")),
      stale_priority_updates(CounterOf(*registry, "vixen_replay_stale_priority_updates_total",
                                       "Priority updates of rows that were overwritten")),
      checkpoints_written(CounterOf(*registry, "vixen_checkpoints_total", "Checkpoints by result",
                                    {{"result", "written"}})),
      checkpoints_failed(CounterOf(*registry, "vixen_checkpoints_total", "Checkpoints by result",
                                   {{"result", "failed"}})),
      checkpoint_bytes(GaugeOf(*registry, "vixen_checkpoint_bytes", "Size of the last checkpoint")),
      checkpoint_stop_seconds(GaugeOf(*registry, "vixen_checkpoint_stop_seconds",
                                      "Time that training stopped for the last checkpoint")),
      checkpoint_write_seconds(GaugeOf(*registry, "vixen_checkpoint_write_seconds",
                                       "Time that writing the last checkpoint took")),
      learner_waits(CounterOf(*registry, "vixen_limiter_wait_seconds_total",
                              "Time that one side waited for the other", {{"side", "learner"}})),
      actor_waits(CounterOf(*registry, "vixen_limiter_wait_seconds_total",
                            "Time that one side waited for the other", {{"side", "actor"}})),
      learner_blocked(GaugeOf(*registry, "vixen_limiter_blocked",
                              "1 while one side waits for the other", {{"side", "learner"}})),
      actor_blocked(GaugeOf(*registry, "vixen_limiter_blocked",
                            "1 while one side waits for the other", {{"side", "actor"}})),
      checkpoint_time(GaugeOf(*registry, "vixen_checkpoint_timestamp_seconds",
                              "When the last checkpoint was written; 0: none by this process")),
      weights_live_time(GaugeOf(*registry, "vixen_learner_weights_live_timestamp_seconds",
                                "When an actor last confirmed that all pushed weights are live")),
      replay_bytes(GaugeOf(*registry, "vixen_replay_bytes", "Memory of the full replay")),
      update_seconds(
          BuildHistogram()
              .Name("vixen_learner_update_seconds")
              .Help("Time of one gradient update with its sampling")
              .Register(*registry)
              .Add({}, prometheus::Histogram::BucketBoundaries{0.00025, 0.0005, 0.001, 0.002, 0.004,
                                                               0.008, 0.016, 0.032, 0.064, 0.128,
                                                               0.256, 0.512, 1.024})),
      batch_age(BuildHistogram()
                    .Name("vixen_learner_batch_age_seconds")
                    .Help("From the end of the launch at the actor to the insert, by both clocks")
                    .Register(*registry)
                    .Add({}, prometheus::Histogram::BucketBoundaries{0.001, 0.003, 0.01, 0.03, 0.1,
                                                                     0.3, 1, 3, 10, 30, 100})),
      draining(GaugeOf(*registry, "vixen_draining", "1 while stopping")),
      registry_(std::move(registry)) {
  const char* const activities[] = {"sampling", "updating",      "waiting_data", "inserting",
                                    "pushing",  "checkpointing", "reporting"};
  for (size_t i = 0; i < kActivities; ++i) {
    activities_[i] =
        &CounterOf(*registry_, "vixen_learner_activity_seconds_total",
                   "Time by what the training thread was doing", {{"activity", activities[i]}});
  }
  auto& actors = BuildGauge()
                     .Name("vixen_learner_actors")
                     .Help("Actors that are configured, that have a stream, that give batches")
                     .Register(*registry_);
  const char* const states[] = {"configured", "connected", "ready"};
  for (size_t i = 0; i < actors_.size(); ++i) actors_[i] = &actors.Add({{"state", states[i]}});
  ready_ = &GaugeOf(*registry_, "vixen_ready", "1 while batches come: the readiness probe");
  const char* const terms[] = {"pnl", "barrier", "risk", "diversity", "curiosity"};
  const char* const exposures[] = {"short", "half_short", "flat", "half_long", "long"};
  for (size_t i = 0; i < reward_variance_share.size(); ++i) {
    reward_variance_share[i] = &GaugeOf(
        *registry_, "vixen_reward_variance_ratio",
        "Share of the sum of the reward terms' variances, last batches", {{"term", terms[i]}});
    exposure_share[i] =
        &GaugeOf(*registry_, "vixen_exposure_ratio",
                 "Share of steps by target exposure, last batches", {{"exposure", exposures[i]}});
  }
  const char* const kinds[] = {"nan", "positive_infinity", "negative_infinity", "negative"};
  for (size_t i = 0; i < priority_rejects.size(); ++i) {
    priority_rejects[i] = &CounterOf(*registry_, "vixen_replay_priority_rejects_total",
                                     "Values refused as a priority", {{"kind", kinds[i]}});
  }
}

void Metrics::SetActions(std::span<const uint8_t> allowed) {
  for (const uint8_t action : allowed) {
    actions_[action] = &CounterOf(*registry_, "vixen_learner_action_rows_total",
                                  "Inserted rows by action", {{"action", std::to_string(action)}});
  }
}

void Metrics::CountActions(std::span<const uint64_t, kernels::kActions> rows) {
  for (size_t action = 0; action < rows.size(); ++action) {
    if (actions_[action] != nullptr) actions_[action]->Increment(static_cast<double>(rows[action]));
  }
}

void Metrics::SetActors(size_t configured, size_t connected, size_t ready) {
  actors_[0]->Set(static_cast<double>(configured));
  actors_[1]->Set(static_cast<double>(connected));
  actors_[2]->Set(static_cast<double>(ready));
  health_.SetActors(ready, configured);
  ready_->Set(health_.Readiness().ok ? 1 : 0);
}

absl::StatusOr<int> Metrics::Serve(const v1::LearnerConfig& config, const std::string& device,
                                   const RunBook& book) {
  BuildGauge()
      .Name("vixen_build_info")
      .Help("Always 1; what runs here")
      .Register(*registry_)
      .Add({{"version", std::string(base::Version())},
            {"program", "vixen-learner"},
            {"executor", "libtorch"},
            {"device", device}})
      .Set(1);
  VIXEN_ASSIGN_OR_RETURN(
      server_, telemetry::MetricsServer::Listen(
                   config.metrics_listen(), {{"/startupz", [this] { return health_.Startup(); }},
                                             {"/readyz", [this] { return health_.Readiness(); }},
                                             {"/livez", [this] { return health_.Liveness(); }}}));
  server_->Add(registry_);
  server_->Add(std::make_shared<Sheets>(book));
  server_->Add(std::make_shared<Liveness>(health_));
  server_->Add(std::make_shared<telemetry::ProcessCollector>());
  server_->Add(std::make_shared<telemetry::LogCollector>());
  if (!config.tls().tls_ca().empty()) {
    VIXEN_ASSIGN_OR_RETURN(const transport::Certificates* certificates,
                           transport::Certificates::Open(config.tls()));
    server_->Add(std::make_shared<telemetry::TlsCollector>(*certificates));
  }
  return server_->port();
}

}  // namespace vixen::learner
