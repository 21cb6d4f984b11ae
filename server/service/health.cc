// SPDX-License-Identifier: Apache-2.0
#include "server/service/health.h"

#include <spdlog/spdlog.h>

#include "base/str_cat.h"

namespace vixen::server {

void Health::Attach(grpc::HealthCheckServiceInterface* service) {
  std::lock_guard lock(mutex_);
  services_.push_back(service);
  ShowLocked();
}

void Health::Started() {
  std::lock_guard lock(mutex_);
  started_ = true;
  ShowLocked();
}

void Health::Draining() {
  std::lock_guard lock(mutex_);
  draining_ = true;
  ShowLocked();
}

void Health::SetFault(const std::string& fault) {
  std::lock_guard lock(mutex_);
  if (fault_.empty() == fault.empty()) return;
  if (fault.empty()) {
    spdlog::warn("liveness: well again after: {}", fault_);
  } else {
    spdlog::error("liveness: NOT_SERVING: {}", fault);
  }
  fault_ = fault;
  ShowLocked();
}

void Health::ShowLocked() {
  const bool ready = ReadyLocked();
  for (grpc::HealthCheckServiceInterface* service : services_) {
    service->SetServingStatus("startup", started_);
    for (const char* name :
         {"", "readiness", "vixen.v1.Actor", "vixen.v1.Weights", "vixen.v1.Admin"}) {
      service->SetServingStatus(name, ready);
    }
    service->SetServingStatus("liveness", fault_.empty());
  }
  metrics_.ready->Set(ready ? 1 : 0);
  metrics_.live->Set(fault_.empty() ? 1 : 0);
}

telemetry::ProbeAnswer Health::Startup() const {
  std::lock_guard lock(mutex_);
  return {started_, gate_.Text()};
}

telemetry::ProbeAnswer Health::Readiness() const {
  std::lock_guard lock(mutex_);
  if (!started_) return {false, gate_.Text()};
  if (draining_) return {false, "draining"};
  return fault_.empty() ? telemetry::ProbeAnswer{true, "ready"}
                        : telemetry::ProbeAnswer{false, fault_};
}

telemetry::ProbeAnswer Health::Liveness() const {
  std::lock_guard lock(mutex_);
  return fault_.empty() ? telemetry::ProbeAnswer{true, "live"}
                        : telemetry::ProbeAnswer{false, fault_};
}

}  // namespace vixen::server
