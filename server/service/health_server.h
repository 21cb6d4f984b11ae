// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/service/health.h"
#include "server/service/listener.h"

namespace vixen::server {

// grpc.health.v1 in plain text on an address of its own, for probes that have no certificates.
// Every other method is UNIMPLEMENTED there.
class HealthServer {
 public:
  // Attaches itself to `health`, which must outlive it.
  static absl::StatusOr<std::unique_ptr<HealthServer>> Listen(const std::string& address,
                                                              Health& health);
  ~HealthServer();

  int port() const { return listener_->port(); }

 private:
  HealthServer() = default;

  grpc::CallbackGenericService everything_else_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace vixen::server
