// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace vixen::server {

// /metrics over HTTP. Four threads: with the library's default of two, two idle connections block
// all scrapes.
class MetricsServer {
 public:
  // UNAVAILABLE naming setting and address when it cannot listen there.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Listen(const std::string& address);

  // Scraped from now on; kept alive here.
  void Add(std::shared_ptr<prometheus::Collectable> source);
  int port() const;

 private:
  explicit MetricsServer(std::unique_ptr<prometheus::Exposer> exposer)
      : exposer_(std::move(exposer)) {}

  std::vector<std::shared_ptr<prometheus::Collectable>> sources_;
  std::unique_ptr<prometheus::Exposer> exposer_;  // stops before its sources go
};

}  // namespace vixen::server
