// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/telemetry/http_server.h"

namespace vixen::telemetry {

// What a probe says: yes or no, and in words why.
struct ProbeAnswer {
  bool ok = false;
  std::string text;
};

// /metrics in Prometheus' text format, and pages of probes, on one address. Values are collected
// source by source, each under its own short locks; the text is made from the copies, with no lock
// held that anything but scrapes takes.
class MetricsServer {
 public:
  using Probe = std::function<ProbeAnswer()>;

  // UNAVAILABLE naming metrics_listen and the address when it cannot listen there. `probes` by path
  // ("/readyz"): 200 or 503 with a line of text; called on the server's thread.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Listen(
      const std::string& address, std::map<std::string, Probe, std::less<>> probes);

  // Scraped from now on; kept alive here. Any thread.
  void Add(std::shared_ptr<const prometheus::Collectable> source);
  int port() const { return http_->port(); }

 private:
  explicit MetricsServer(std::map<std::string, Probe, std::less<>> probes);
  HttpResponse Answer(std::string_view path);
  std::string Scrape();

  const std::map<std::string, Probe, std::less<>> probes_;
  std::shared_ptr<prometheus::Registry> own_;
  prometheus::Histogram* scrape_seconds_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const prometheus::Collectable>> sources_;
  std::unique_ptr<HttpServer> http_;  // ends before its sources go
};

}  // namespace vixen::telemetry
