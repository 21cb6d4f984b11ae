// SPDX-License-Identifier: Apache-2.0
#include "proto/telemetry/tls_collector.h"

#include "proto/telemetry/process_collector.h"

namespace vixen::telemetry {
namespace {

using prometheus::MetricType;

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

}  // namespace vixen::telemetry
