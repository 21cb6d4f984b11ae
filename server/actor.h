// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/server.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/telemetry/metrics_server.h"
#include "server/actor_core.h"
#include "server/faults.h"
#include "server/metrics/actor_metrics.h"
#include "server/metrics/nvml.h"
#include "server/service/actor_service.h"
#include "server/service/health.h"
#include "server/service/health_server.h"
#include "server/service/listener.h"
#include "server/service/liveness_watch.h"
#include "server/service/start_gate.h"
#include "server/service/weights_service.h"
#include "vixen/v1/config.pb.h"

namespace vixen::server {

// A whole actor: dataset, executor, collector thread, gRPC services, metrics. One a process;
// several may live in one process in tests.
class Actor {
 public:
  // Chooses the executor: it may take a while, and starts the device.
  using ChooseCollector = std::function<absl::StatusOr<kernels::CollectorFactory>()>;

  // Opens the listeners: every probe answers from here on, every call is UNAVAILABLE with what the
  // start is at. `config` is effective (config_flags.h). Errors name the setting.
  static absl::StatusOr<std::unique_ptr<Actor>> Listen(const v1::ActorConfig& config);
  // Loads the dataset, applies the range, makes the first executor (which checks the settings),
  // after a trial launch if `warm_up`; health is SERVING when it returns. Once. Errors name the
  // setting, or the file.
  absl::Status Load(const ChooseCollector& choose, bool warm_up);
  // Both, with an executor that is chosen already.
  static absl::StatusOr<std::unique_ptr<Actor>> Start(
      const v1::ActorConfig& config, const kernels::CollectorFactory& make_collector);
  ~Actor();

  int port() const { return port_; }
  int metrics_port() const { return metrics_ ? metrics_->port() : 0; }
  int health_port() const { return health_server_ ? health_server_->port() : 0; }
  // After Load.
  uint64_t run_id() const { return core_->setup.run.run_id; }
  bool loaded() const { return loaded_; }

  // Asks WaitForStop to return. Any thread.
  void RequestStop();
  // Until RequestStop, the Drain call (both OK) or the collector's giving up (its error).
  absl::Status WaitForStop();

  // NOT_SERVING, no new launches, what is reserved is sent, streams end with UNAVAILABLE; what is
  // left at `deadline` is cut off. Then everything is stopped.
  void Stop(std::chrono::steady_clock::time_point deadline);
  // What Stop is doing, for a watchdog's message. Any thread.
  const char* phase() const { return phase_; }

 private:
  Actor(const v1::ActorConfig& config, const Faults& faults);
  absl::Status OpenListeners();
  absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> Credentials(const v1::TlsSettings& tls);
  void WatchGpu();
  std::string FindFault() const;
  void RequestStopWith(absl::Status status);
  void Enter(const char* phase);
  void StopCore(std::chrono::steady_clock::time_point deadline);
  bool EndServer(std::chrono::steady_clock::time_point deadline);

  const v1::ActorConfig config_;
  const Faults faults_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  ActorMetrics actor_metrics_;
  StartGate gate_;
  Health health_{actor_metrics_, gate_};
  std::shared_ptr<const Nvml> nvml_;  // null without a GPU
  std::unique_ptr<ActorCore> core_;   // null until Load
  ActorService actor_service_{gate_};
  WeightsService weights_service_{gate_};
  AdminService admin_service_{gate_};
  std::unique_ptr<telemetry::MetricsServer> metrics_;
  std::unique_ptr<HealthServer> health_server_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<LivenessWatch> watch_;
  int port_ = 0;

  std::atomic<bool> loaded_ = false;
  std::atomic<bool> device_lost_ = false;
  std::atomic<const char*> phase_ = "running";
  std::mutex mutex_;
  std::condition_variable stop_requested_;
  std::optional<absl::Status> stop_;
  bool stopped_ = false;
  bool server_ended_ = false;
  std::thread shutdown_;
};

}  // namespace vixen::server
