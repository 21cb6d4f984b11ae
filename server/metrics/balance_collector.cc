// SPDX-License-Identifier: Apache-2.0
#include "server/metrics/balance_collector.h"

#include <string>
#include <utility>

namespace vixen::server {
namespace {

void AddGauge(prometheus::MetricFamily& family, const std::string& policy, const std::string& group,
              const char* state, uint64_t value) {
  prometheus::ClientMetric metric;
  metric.label = {{"policy", policy}, {"group", group}, {"state", state}};
  metric.gauge.value = static_cast<double>(value);
  family.metric.push_back(std::move(metric));
}

}  // namespace

std::vector<prometheus::MetricFamily> BalanceCollector::Collect() const {
  prometheus::MetricFamily batches{"vixen_balance_batches",
                                   "Where this run's batches are, by group",
                                   prometheus::MetricType::Gauge,
                                   {}};
  prometheus::MetricFamily rows{"vixen_balance_transitions",
                                "Where this run's transitions are, by group",
                                prometheus::MetricType::Gauge,
                                {}};
  for (const std::shared_ptr<Policy>& policy : policies_.All()) {
    for (const Sheet& sheet : policy->delivery.Sheets()) {
      const std::pair<const char*, Tally> states[] = {
          {"offered", sheet.offered},
          {"durable", sheet.durable},
          {"acknowledged", sheet.acknowledged},
          {"in_flight", sheet.in_flight},
          {"retained", sheet.retained},
          {"dropped_retained_overflow", sheet.dropped_overflow},
          {"dropped_lost_with_consumer", sheet.dropped_lost},
          {"dropped_slow_consumer", sheet.dropped_slow},
          {"not_offered", sheet.not_offered},
      };
      for (const auto& [state, tally] : states) {
        AddGauge(batches, policy->name, sheet.group, state, tally.batches);
        AddGauge(rows, policy->name, sheet.group, state, tally.rows);
      }
    }
  }
  return {std::move(batches), std::move(rows)};
}

}  // namespace vixen::server
