// SPDX-License-Identifier: Apache-2.0
#include "proto/telemetry/metrics_server.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <iterator>
#include <sstream>
#include <utility>

#include "base/status_macros.h"

namespace vixen::telemetry {
namespace {

constexpr char kTextFormat[] = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace

MetricsServer::MetricsServer(std::map<std::string, Probe, std::less<>> probes)
    : probes_(std::move(probes)),
      own_(std::make_shared<prometheus::Registry>()),
      scrape_seconds_(
          &prometheus::BuildHistogram()
               .Name("vixen_scrape_seconds")
               .Help("Time to collect and write one scrape")
               .Register(*own_)
               .Add({}, prometheus::Histogram::BucketBoundaries{0.001, 0.0025, 0.005, 0.01, 0.025,
                                                                0.05, 0.1, 0.25, 1})),
      sources_({own_}) {}

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Listen(
    const std::string& address, std::map<std::string, Probe, std::less<>> probes) {
  std::unique_ptr<MetricsServer> server(new MetricsServer(std::move(probes)));
  VIXEN_ASSIGN_OR_RETURN(
      server->http_,
      HttpServer::Listen("metrics_listen", address, [self = server.get()](std::string_view path) {
        return self->Answer(path);
      }));
  return server;
}

void MetricsServer::Add(std::shared_ptr<const prometheus::Collectable> source) {
  std::lock_guard lock(mutex_);
  sources_.push_back(std::move(source));
}

HttpResponse MetricsServer::Answer(std::string_view path) {
  if (path == "/metrics") return {.content_type = kTextFormat, .body = Scrape()};
  const auto probe = probes_.find(path);
  if (probe == probes_.end()) return {.code = 404, .body = "only /metrics and the probes\n"};
  ProbeAnswer answer = probe->second();
  return {.code = answer.ok ? 200 : 503, .body = std::move(answer.text) + "\n"};
}

std::string MetricsServer::Scrape() {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::shared_ptr<const prometheus::Collectable>> sources;
  {
    std::lock_guard lock(mutex_);
    sources = sources_;
  }
  std::vector<prometheus::MetricFamily> families;
  for (const auto& source : sources) {
    std::vector<prometheus::MetricFamily> part = source->Collect();
    families.insert(families.end(), std::make_move_iterator(part.begin()),
                    std::make_move_iterator(part.end()));
  }
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  scrape_seconds_->Observe(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return std::move(text).str();
}

}  // namespace vixen::telemetry
