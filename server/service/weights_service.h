// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/service/start_gate.h"
#include "vixen/v1/weights.grpc.pb.h"

namespace vixen::server {

// vixen.v1.Weights; UNAVAILABLE until the gate opens. Uploads are gathered on gRPC's threads;
// parsing, checking and staging run on the staging thread.
class WeightsService final : public v1::Weights::CallbackService {
 public:
  explicit WeightsService(const StartGate& gate) : gate_(gate) {}

  grpc::ServerReadReactor<v1::PushWeightsRequest>* PushWeights(
      grpc::CallbackServerContext* context, v1::PushWeightsResponse* response) override;
  grpc::ServerWriteReactor<v1::GetWeightsResponse>* GetWeights(
      grpc::CallbackServerContext* context, const v1::GetWeightsRequest* request) override;

 private:
  const StartGate& gate_;
};

}  // namespace vixen::server
