// SPDX-License-Identifier: Apache-2.0
#include "server/metrics/tls_collector.h"

#include <prometheus/metric_family.h>

#include <utility>

namespace vixen::server {
namespace {

using prometheus::MetricType;

prometheus::MetricFamily Single(const char* name, const char* help, MetricType type, double value) {
  prometheus::ClientMetric metric;
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  return {name, help, type, {std::move(metric)}};
}

}  // namespace

std::vector<prometheus::MetricFamily> TlsCollector::Collect() const {
  const transport::Certificates::State state = certificates_.state();
  return {
      Single("vixen_tls_reloads_total", "New certificates taken into use", MetricType::Counter,
             static_cast<double>(state.reloads)),
      Single("vixen_tls_reload_failures_total", "New certificates refused; the ones in use stayed",
             MetricType::Counter, static_cast<double>(state.failures)),
      Single("vixen_tls_certificate_not_after_timestamp_seconds", "End of the certificate in use",
             MetricType::Gauge, static_cast<double>(state.not_after))};
}

}  // namespace vixen::server
