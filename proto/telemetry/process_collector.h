// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <vector>

namespace vixen::telemetry {

// A family with one sample without labels.
prometheus::MetricFamily Single(const char* name, const char* help, prometheus::MetricType type,
                                double value);

// What the process itself uses, by the names of Prometheus' client libraries
// (process_cpu_seconds_total, process_resident_memory_bytes, process_open_fds, process_max_fds,
// process_threads, process_start_time_seconds), and what its container allows:
// vixen_memory_limit_bytes, vixen_cpu_limit_cores. Read at each scrape.
class ProcessCollector final : public prometheus::Collectable {
 public:
  ProcessCollector();
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  double start_seconds_;
};

}  // namespace vixen::telemetry
