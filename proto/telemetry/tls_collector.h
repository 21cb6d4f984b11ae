// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/collectable.h>

#include <vector>

#include "proto/transport/certificates.h"

namespace vixen::telemetry {

// vixen_tls_reloads_total, vixen_tls_reload_failures_total and
// vixen_tls_certificate_not_after_timestamp_seconds, read at each scrape.
class TlsCollector final : public prometheus::Collectable {
 public:
  // `certificates` must outlive it.
  explicit TlsCollector(const transport::Certificates& certificates)
      : certificates_(certificates) {}
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const transport::Certificates& certificates_;
};

}  // namespace vixen::telemetry
