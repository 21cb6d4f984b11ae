// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "learner/client/run_book.h"
#include "learner/metrics/metrics.h"
#include "vixen/v1/learner.grpc.pb.h"

namespace vixen::learner {

// Serves vixen.v1.Learner: what this learner is, and its books run by run, of ended runs too. For
// the people and tools of its own machine: loopback only, so without certificates. Thread-safe.
class LearnerServer final : public v1::Learner::Service {
 public:
  // HOST:PORT, port 0 chooses. `fixed` is what does not change; `book` and `metrics` must outlive
  // the server. UNAVAILABLE naming the address when it cannot be had.
  static absl::StatusOr<std::unique_ptr<LearnerServer>> Listen(const std::string& address,
                                                               v1::LearnerInfoResponse fixed,
                                                               const RunBook& book,
                                                               const Metrics& metrics);
  ~LearnerServer() override;

  int port() const { return port_; }

 private:
  LearnerServer(v1::LearnerInfoResponse fixed, const RunBook& book, const Metrics& metrics)
      : fixed_(std::move(fixed)), book_(book), metrics_(metrics) {}

  grpc::Status GetInfo(grpc::ServerContext* context, const v1::LearnerInfoRequest* request,
                       v1::LearnerInfoResponse* response) override;
  grpc::Status GetBalance(grpc::ServerContext* context, const v1::LearnerBalanceRequest* request,
                          v1::LearnerBalanceResponse* response) override;
  grpc::Status SetLogLevel(grpc::ServerContext* context, const v1::SetLogLevelRequest* request,
                           v1::SetLogLevelResponse* response) override;

  const v1::LearnerInfoResponse fixed_;
  const RunBook& book_;
  const Metrics& metrics_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace vixen::learner
