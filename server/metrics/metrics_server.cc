// SPDX-License-Identifier: Apache-2.0
#include "server/metrics/metrics_server.h"

#include <exception>
#include <utility>

#include "server/service/listen_error.h"

namespace vixen::server {

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Listen(const std::string& address) {
  try {
    auto exposer = std::make_unique<prometheus::Exposer>(std::vector<std::string>{
        "listening_ports", address, "num_threads", "4", "request_timeout_ms", "5000"});
    return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(exposer)));
  } catch (const std::exception&) {
    return ListenError("metrics_listen", address);
  }
}

void MetricsServer::Add(std::shared_ptr<prometheus::Collectable> source) {
  exposer_->RegisterCollectable(source);
  sources_.push_back(std::move(source));
}

int MetricsServer::port() const {
  const std::vector<int> ports = exposer_->GetListeningPorts();
  return ports.empty() ? 0 : ports.front();
}

}  // namespace vixen::server
