// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <memory>
#include <string>

#include "tests/server/test_weights.h"
#include "vixen/v1/actor.grpc.pb.h"
#include "vixen/v1/weights.grpc.pb.h"

namespace vixen::server {

inline void SetDeadline(grpc::ClientContext& context, int seconds = 60) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(seconds));
}

inline grpc::Status PushRequests(const std::shared_ptr<grpc::Channel>& channel,
                                 const std::vector<v1::PushWeightsRequest>& requests,
                                 v1::PushWeightsResponse* response) {
  const auto stub = v1::Weights::NewStub(channel);
  grpc::ClientContext context;
  SetDeadline(context);
  const auto writer = stub->PushWeights(&context, response);
  for (const v1::PushWeightsRequest& request : requests) {
    if (!writer->Write(request)) break;
  }
  writer->WritesDone();
  return writer->Finish();
}

inline v1::GetInfoResponse InfoOf(const std::shared_ptr<grpc::Channel>& channel) {
  const auto stub = v1::Actor::NewStub(channel);
  grpc::ClientContext context;
  SetDeadline(context);
  v1::GetInfoResponse info;
  const grpc::Status status = stub->GetInfo(&context, {}, &info);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return info;
}

inline v1::BalanceSheet BalanceOf(const std::shared_ptr<grpc::Channel>& channel,
                                  const std::string& policy, const std::string& group) {
  const auto stub = v1::Actor::NewStub(channel);
  grpc::ClientContext context;
  SetDeadline(context);
  v1::GetBalanceRequest request;
  request.set_policy(policy);
  request.set_group(group);
  v1::GetBalanceResponse response;
  const grpc::Status status = stub->GetBalance(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response.sheets_size() == 1 ? response.sheets(0) : v1::BalanceSheet();
}

// Online, target and curiosity weights of constant value, all of one version.
inline void PushAllKinds(const std::shared_ptr<grpc::Channel>& channel,
                         const v1::GetInfoResponse& info, uint64_t version, float value,
                         const std::string& policy = "p") {
  for (const auto kind : {kernels::WeightsKind::kOnline, kernels::WeightsKind::kTarget,
                          kernels::WeightsKind::kCuriosity}) {
    const TestWeights weights =
        MakeTestWeights(ConstantParameters(codec::FromProto(info.architecture()), kind, value),
                        version, info.dataset().scaler_fingerprint(), policy);
    v1::PushWeightsResponse response;
    const grpc::Status status = PushRequests(channel, RequestsOf(weights), &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
}

}  // namespace vixen::server
