// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/service/actor_state.h"
#include "server/service/start_gate.h"
#include "vixen/v1/actor.grpc.pb.h"

namespace vixen::server {

// vixen.v1.Actor; UNAVAILABLE until the gate opens. Collect is raw: its bytes are written without a
// copy (wire.h).
class ActorService final
    : public v1::Actor::WithRawCallbackMethod_Collect<
          v1::Actor::WithCallbackMethod_GetInfo<v1::Actor::WithCallbackMethod_GetDataset<
              v1::Actor::WithCallbackMethod_GetBalance<v1::Actor::Service>>>> {
 public:
  explicit ActorService(const StartGate& gate) : gate_(gate) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Collect(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context,
                                    const v1::GetInfoRequest* request,
                                    v1::GetInfoResponse* response) override;
  grpc::ServerWriteReactor<v1::GetDatasetResponse>* GetDataset(
      grpc::CallbackServerContext* context, const v1::GetDatasetRequest* request) override;
  grpc::ServerUnaryReactor* GetBalance(grpc::CallbackServerContext* context,
                                       const v1::GetBalanceRequest* request,
                                       v1::GetBalanceResponse* response) override;

 private:
  const StartGate& gate_;
};

// vixen.v1.Admin.
class AdminService final : public v1::Admin::CallbackService {
 public:
  explicit AdminService(const StartGate& gate) : gate_(gate) {}

  grpc::ServerUnaryReactor* SetLogLevel(grpc::CallbackServerContext* context,
                                        const v1::SetLogLevelRequest* request,
                                        v1::SetLogLevelResponse* response) override;
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context,
                                  const v1::DrainRequest* request,
                                  v1::DrainResponse* response) override;

 private:
  const StartGate& gate_;
};

// The books as messages; empty names mean all.
v1::GetBalanceResponse BalanceOf(const ActorState& state, const std::string& policy,
                                 const std::string& group);

}  // namespace vixen::server
