// SPDX-License-Identifier: Apache-2.0
#include "learner/metrics/metrics.h"

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <exception>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace vixen::learner {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;

prometheus::Counter& CounterOf(prometheus::Registry& registry, const char* name, const char* help,
                               const prometheus::Labels& labels = {}) {
  return BuildCounter().Name(name).Help(help).Register(registry).Add(labels);
}
prometheus::Gauge& GaugeOf(prometheus::Registry& registry, const char* name, const char* help) {
  return BuildGauge().Name(name).Help(help).Register(registry).Add({});
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
      epsilon(GaugeOf(*registry, "vixen_policy_epsilon", "Exploration sent with the weights")),
      online_version(
          GaugeOf(*registry, "vixen_weights_version", "Version of the newest online weights")),
      staleness(BuildHistogram()
                    .Name("vixen_policy_staleness_versions")
                    .Help("Own online version minus the one that a received batch was made with")
                    .Register(*registry)
                    .Add({}, prometheus::Histogram::BucketBoundaries{0, 1, 2, 3, 4, 6, 8, 16, 32,
                                                                     64, 128})),
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
      registry_(std::move(registry)) {
  const char* const kinds[] = {"nan", "positive_infinity", "negative_infinity", "negative"};
  for (size_t i = 0; i < priority_rejects.size(); ++i) {
    priority_rejects[i] = &CounterOf(*registry_, "vixen_replay_priority_rejects_total",
                                     "Values refused as a priority", {{"kind", kinds[i]}});
  }
}

absl::StatusOr<int> Metrics::Serve(const std::string& address, const RunBook& book) {
  try {
    exposer_ = std::make_unique<prometheus::Exposer>(address, 1);
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("metrics_listen ", address,
                                               " cannot be served: ", error.what(),
                                               "; choose another port, or 0 for any"));
  }
  sheets_ = std::make_shared<Sheets>(book);
  exposer_->RegisterCollectable(registry_);
  exposer_->RegisterCollectable(sheets_);
  const std::vector<int> ports = exposer_->GetListeningPorts();
  return ports.empty() ? 0 : ports.front();
}

}  // namespace vixen::learner
