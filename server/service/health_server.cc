// SPDX-License-Identifier: Apache-2.0
#include "server/service/health_server.h"

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_builder.h>

#include <chrono>

#include "server/service/listen_error.h"

namespace vixen::server {

absl::StatusOr<std::unique_ptr<HealthServer>> HealthServer::Listen(const std::string& address) {
  grpc::EnableDefaultHealthCheckService(true);
  std::unique_ptr<HealthServer> health(new HealthServer());
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &health->port_);
  builder.RegisterCallbackGenericService(&health->everything_else_);
  builder.SetMaxReceiveMessageSize(4096);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  health->server_ = builder.BuildAndStart();
  if (health->server_ == nullptr || health->port_ == 0) {
    health->server_.reset();
    return ListenError("health_listen", address);
  }
  return health;
}

HealthServer::~HealthServer() {
  if (server_) server_->Shutdown(std::chrono::system_clock::now());
}

void HealthServer::SetServing(const std::string& service, bool serving) {
  server_->GetHealthCheckService()->SetServingStatus(service, serving);
}

}  // namespace vixen::server
