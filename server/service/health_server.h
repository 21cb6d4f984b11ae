// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace vixen::server {

// grpc.health.v1 in plain text on an address of its own, for probes that have no certificates.
// Every other method is UNIMPLEMENTED there.
class HealthServer {
 public:
  static absl::StatusOr<std::unique_ptr<HealthServer>> Listen(const std::string& address);
  ~HealthServer();

  int port() const { return port_; }
  void SetServing(const std::string& service, bool serving);

 private:
  HealthServer() = default;

  grpc::CallbackGenericService everything_else_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace vixen::server
