// SPDX-License-Identifier: Apache-2.0
// What one writes first: a server stream with one protobuf message a batch. The yardstick beside
// which the batch stream is measured.
#pragma once

#include <grpcpp/server.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "vixen/v1/actor.grpc.pb.h"

namespace vixen::bench {

// Answers GetDataset with messages of `offset` bytes each, until the client goes.
class NaiveServer final : public v1::Actor::Service {
 public:
  NaiveServer();
  ~NaiveServer() override;
  int port() const { return port_; }

 private:
  grpc::Status GetDataset(grpc::ServerContext* context, const v1::GetDatasetRequest* request,
                          grpc::ServerWriter<v1::GetDatasetResponse>* writer) override;

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

struct Transfer {
  uint64_t bytes = 0;  // payload
  double seconds = 0;
};

// Reads messages of `message_bytes` for `warm_up` and then for `time`, which is measured.
absl::StatusOr<Transfer> ReadNaive(int port, uint64_t message_bytes,
                                   std::chrono::duration<double> warm_up,
                                   std::chrono::duration<double> time,
                                   const std::function<void()>& on_start);

}  // namespace vixen::bench
