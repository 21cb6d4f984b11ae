// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/health_check_service_interface.h>

#include <mutex>
#include <string>
#include <vector>

#include "proto/telemetry/metrics_server.h"
#include "server/metrics/actor_metrics.h"
#include "server/service/start_gate.h"

namespace vixen::server {

// One truth for every probe: the named services of grpc.health.v1 on each gRPC port that has it,
// and /startupz, /readyz, /livez beside /metrics, which say why in words.
//   startup      SERVING from the end of the load on
//   readiness    learners can be served; also "" and the names of the vixen.v1 services
//   liveness     SERVING unless only a new process would help: a lost device, a stuck launch
// Thread-safe.
class Health {
 public:
  // Both must outlive it.
  Health(ActorMetrics& metrics, const StartGate& gate) : metrics_(metrics), gate_(gate) {}

  // Before connections are accepted there: until then every service is unknown, or serving.
  // `service` must live until Clear.
  void Attach(grpc::HealthCheckServiceInterface* service);

  // The load is over, learners may come.
  void Started();
  // No learner is taken any more; never again ready.
  void Draining();
  // Empty: nothing wrong. Else what only a new process cures.
  void SetFault(const std::string& fault);

  telemetry::ProbeAnswer Startup() const;
  telemetry::ProbeAnswer Readiness() const;
  telemetry::ProbeAnswer Liveness() const;

 private:
  bool ReadyLocked() const { return started_ && !draining_ && fault_.empty(); }
  void ShowLocked();

  ActorMetrics& metrics_;
  const StartGate& gate_;
  mutable std::mutex mutex_;
  std::vector<grpc::HealthCheckServiceInterface*> services_;
  bool started_ = false;
  bool draining_ = false;
  std::string fault_;
};

}  // namespace vixen::server
