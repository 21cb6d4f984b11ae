// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "learner/client/run_book.h"

namespace vixen::learner {

// The learner's metrics: every label set is resolved once, here, so that the loop only touches
// numbers. docs/operations.md lists them. Recording is thread-safe.
class Metrics {
 public:
  Metrics();

  prometheus::Counter& updates;
  prometheus::Counter& samples;
  prometheus::Counter& inserts;
  prometheus::Counter& batches;
  prometheus::Gauge& replay_rows;
  prometheus::Gauge& replay_capacity;
  prometheus::Gauge& loss;
  prometheus::Gauge& epsilon;
  prometheus::Gauge& online_version;
  prometheus::Histogram& staleness;
  prometheus::Counter& stale_priority_updates;
  prometheus::Counter& checkpoints_written;
  prometheus::Counter& checkpoints_failed;
  prometheus::Gauge& checkpoint_bytes;                   // of the last one
  prometheus::Gauge& checkpoint_stop_seconds;            // that training stopped for it
  prometheus::Gauge& checkpoint_write_seconds;           // on the other thread
  std::array<prometheus::Counter*, 4> priority_rejects;  // nan, +inf, −inf, negative
  prometheus::Counter& learner_waits;                    // seconds without rows that may be sampled
  prometheus::Counter& actor_waits;                      // seconds in which no actor holds credit

  prometheus::Registry& registry() { return *registry_; }

  // Serves /metrics on HOST:PORT (port 0 chooses); returns the port. `book` must outlive the
  // metrics.
  absl::StatusOr<int> Serve(const std::string& address, const RunBook& book);

 private:
  explicit Metrics(std::shared_ptr<prometheus::Registry> registry);

  std::shared_ptr<prometheus::Registry> registry_;
  std::shared_ptr<prometheus::Collectable> sheets_;
  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace vixen::learner
