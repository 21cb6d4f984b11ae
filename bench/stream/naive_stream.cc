// SPDX-License-Identifier: Apache-2.0
#include "bench/stream/naive_stream.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/server_builder.h>

#include "base/str_cat.h"

namespace vixen::bench {

using Clock = std::chrono::steady_clock;

NaiveServer::NaiveServer() {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

NaiveServer::~NaiveServer() { server_->Shutdown(std::chrono::system_clock::now()); }

grpc::Status NaiveServer::GetDataset(grpc::ServerContext* /*context*/,
                                     const v1::GetDatasetRequest* request,
                                     grpc::ServerWriter<v1::GetDatasetResponse>* writer) {
  v1::GetDatasetResponse response;
  response.set_data(std::string(request->offset(), 'x'));
  while (writer->Write(response)) {
  }
  return grpc::Status::OK;
}

absl::StatusOr<Transfer> ReadNaive(int port, uint64_t message_bytes,
                                   std::chrono::duration<double> warm_up,
                                   std::chrono::duration<double> time,
                                   const std::function<void()>& on_start) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  const auto stub = v1::Actor::NewStub(grpc::CreateCustomChannel(
      base::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  v1::GetDatasetRequest request;
  request.set_offset(message_bytes);
  const auto reader = stub->GetDataset(&context, request);
  v1::GetDatasetResponse response;
  const Clock::time_point warm =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(warm_up);
  bool more = reader->Read(&response);
  while (more && Clock::now() < warm) more = reader->Read(&response);
  on_start();
  Transfer transfer;
  const Clock::time_point start = Clock::now();
  while (more && Clock::now() - start < time) {
    more = reader->Read(&response);
    transfer.bytes += response.data().size();
  }
  transfer.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  context.TryCancel();
  const grpc::Status status = reader->Finish();
  if (!more) {
    return absl::InternalError(base::StrCat("the naive stream ended: ", status.error_message()));
  }
  return transfer;
}

}  // namespace vixen::bench
