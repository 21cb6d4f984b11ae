// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/collectable.h>

#include <vector>

#include "server/collector/policy.h"

namespace vixen::server {

// The balance sheets as metrics, read at each scrape: vixen_balance_batches and
// vixen_balance_transitions by policy, group and state.
class BalanceCollector final : public prometheus::Collectable {
 public:
  explicit BalanceCollector(const Policies& policies) : policies_(policies) {}
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const Policies& policies_;
};

// What the process itself uses: process_cpu_seconds_total, process_resident_memory_bytes,
// process_open_fds, process_max_fds, process_start_time_seconds.
class ProcessCollector final : public prometheus::Collectable {
 public:
  ProcessCollector();
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  double start_seconds_;
};

}  // namespace vixen::server
