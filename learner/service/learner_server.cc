// SPDX-License-Identifier: Apache-2.0
#include "learner/service/learner_server.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <utility>

#include "proto/telemetry/log.h"
#include "proto/transport/listen_error.h"
#include "proto/transport/uncompressed_requests.h"

namespace vixen::learner {

absl::StatusOr<std::unique_ptr<LearnerServer>> LearnerServer::Listen(const std::string& address,
                                                                     v1::LearnerInfoResponse fixed,
                                                                     const RunBook& book,
                                                                     const Metrics& metrics) {
  std::unique_ptr<LearnerServer> server(new LearnerServer(std::move(fixed), book, metrics));
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &server->port_);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(1 << 16);
  transport::RefuseCompressedRequests(/*gzip_responses=*/false, builder);
  builder.RegisterService(server.get());
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr || server->port_ == 0) {
    return transport::ListenError("listen", address);
  }
  return server;
}

LearnerServer::~LearnerServer() {
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
}

grpc::Status LearnerServer::GetInfo(grpc::ServerContext* /*context*/,
                                    const v1::LearnerInfoRequest* /*request*/,
                                    v1::LearnerInfoResponse* response) {
  *response = fixed_;
  response->set_updates(static_cast<uint64_t>(metrics_.updates.Value()));
  response->set_transitions(static_cast<uint64_t>(metrics_.inserts.Value()));
  return grpc::Status::OK;
}

grpc::Status LearnerServer::GetBalance(grpc::ServerContext* /*context*/,
                                       const v1::LearnerBalanceRequest* /*request*/,
                                       v1::LearnerBalanceResponse* response) {
  for (v1::LearnerSheet& sheet : book_.Sheets()) *response->add_sheets() = std::move(sheet);
  return grpc::Status::OK;
}

grpc::Status LearnerServer::SetLogLevel(grpc::ServerContext* /*context*/,
                                        const v1::SetLogLevelRequest* request,
                                        v1::SetLogLevelResponse* response) {
  const std::string previous = telemetry::LogLevel();
  const absl::Status status = telemetry::SetLogLevel(request->level());
  if (!status.ok()) {
    return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
  }
  response->set_previous(previous);
  return grpc::Status::OK;
}

}  // namespace vixen::learner
