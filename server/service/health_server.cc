// SPDX-License-Identifier: Apache-2.0
#include "server/service/health_server.h"

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <utility>

#include "base/status_macros.h"
#include "proto/transport/uncompressed_requests.h"

namespace vixen::server {

absl::StatusOr<std::unique_ptr<HealthServer>> HealthServer::Listen(const std::string& address,
                                                                   Health& health) {
  grpc::EnableDefaultHealthCheckService(true);
  std::unique_ptr<HealthServer> server(new HealthServer());
  VIXEN_ASSIGN_OR_RETURN(server->listener_, Listener::Bind("health_listen", address));
  grpc::ServerBuilder builder;
  auto acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      grpc::InsecureServerCredentials());
  builder.RegisterCallbackGenericService(&server->everything_else_);
  builder.SetMaxReceiveMessageSize(4096);
  transport::RefuseCompressedRequests(/*gzip_responses=*/false, builder);
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr) return absl::InternalError("gRPC refuses to start a server");
  health.Attach(server->server_->GetHealthCheckService());
  server->listener_->Start(std::move(acceptor), [] {});
  return server;
}

HealthServer::~HealthServer() {
  if (listener_) listener_->Stop();
  if (server_) server_->Shutdown(std::chrono::system_clock::now());
}

}  // namespace vixen::server
