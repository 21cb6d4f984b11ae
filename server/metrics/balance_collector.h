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

}  // namespace vixen::server
