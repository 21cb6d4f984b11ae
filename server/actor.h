// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/server.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/actor_setup.h"
#include "server/collector/collector_loop.h"
#include "server/collector/policy.h"
#include "server/metrics/actor_metrics.h"
#include "server/metrics/metrics_server.h"
#include "server/service/actor_service.h"
#include "server/service/actor_state.h"
#include "server/service/collect_streams.h"
#include "server/service/health_server.h"
#include "server/service/listener.h"
#include "server/service/task_thread.h"
#include "server/service/weights_service.h"
#include "server/weights/weights_intake.h"
#include "vixen/v1/config.pb.h"

namespace vixen::server {

// A whole actor: dataset, executor, collector thread, gRPC services, metrics. One a process;
// several may live in one process in tests.
class Actor {
 public:
  // Loads the dataset, applies the range, makes the first executor (which checks the settings) and
  // opens the listeners; health is SERVING when it returns. `config` is effective (config_flags.h).
  // Errors name the setting, or the file.
  static absl::StatusOr<std::unique_ptr<Actor>> Start(
      const v1::ActorConfig& config, const kernels::CollectorFactory& make_collector);
  ~Actor();

  int port() const { return port_; }
  int metrics_port() const { return metrics_ ? metrics_->port() : 0; }
  int health_port() const { return health_ ? health_->port() : 0; }
  uint64_t run_id() const { return setup_.run.run_id; }

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
  explicit Actor(ActorSetup setup);
  absl::Status Listen(const v1::ActorConfig& config);
  absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> Credentials(const v1::TlsSettings& tls);
  void AddGpuMetrics();
  void SetServing(bool serving);
  void RequestStopWith(absl::Status status);
  void Enter(const char* phase);
  bool EndServer(std::chrono::steady_clock::time_point deadline);

  const ActorSetup setup_;
  ActorMetrics actor_metrics_;
  Policies policies_;
  WeightsIntake intake_;
  CollectStreams streams_;
  TaskThread staging_{256};
  TaskThread encoding_{256};
  CollectorLoop loop_;
  ActorState state_;
  ActorService actor_service_{state_};
  WeightsService weights_service_{state_};
  AdminService admin_service_{state_};
  std::unique_ptr<MetricsServer> metrics_;
  std::unique_ptr<HealthServer> health_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;

  std::atomic<const char*> phase_ = "running";
  std::mutex mutex_;
  std::condition_variable stop_requested_;
  std::optional<absl::Status> stop_;
  bool stopped_ = false;
  bool server_ended_ = false;
  std::thread shutdown_;
};

}  // namespace vixen::server
