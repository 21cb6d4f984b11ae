// SPDX-License-Identifier: Apache-2.0
// What the actor refuses because it is too much, each with its status. Streams: service_test.cc;
// weights' size: weights_intake_test.cc; connections: tests/integration/connections_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/service_fixture.h"

namespace vixen::server {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;

class LimitsTest : public ServiceTest {};

TEST_F(LimitsTest, AMessageThatIsTooLarge) {
  Start();
  CollectClient client(channel);
  v1::CollectRequest request;
  request.mutable_open()->set_group(std::string(9 << 20, 'g'));
  client.Send(request);
  const grpc::Status status = client.Finish();
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("8388608"));
}

// gRPC 1.51 closes the connection that they came on, each time, just behind the status: a call that
// is begun on it before the client has seen the end of it fails as after any cut.
TEST_F(LimitsTest, MetadataThatIsTooLargeEndsItsOwnConnectionAndNoOther) {
  Start();
  PushAllKinds(channel, info, 1, 0.5f);
  const auto other = Connect();
  CollectClient beside(other);
  ASSERT_TRUE(beside.Open(CollectClient::OpenOf("p", "g", "c")));
  grpc::ClientContext context;
  SetDeadline(context);
  context.AddMetadata("x-much", std::string(16 << 10, 'x'));
  v1::GetInfoResponse response;
  const grpc::Status status = v1::Actor::NewStub(channel)->GetInfo(&context, {}, &response);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  ASSERT_TRUE(beside.Credit(1));
  EXPECT_TRUE(beside.Next().has_value());
  EXPECT_EQ(InfoOf(Connect()).run_id(), actor->run_id());
}

TEST_F(LimitsTest, OnePolicyTooMany) {
  config.mutable_stream()->set_max_policies(2);
  Start();
  PushAllKinds(channel, info, 1, 0.5f, "p");
  PushAllKinds(channel, info, 1, 0.5f, "q");
  const TestWeights third = MakeTestWeights(
      ConstantParameters(codec::FromProto(info.architecture()), kernels::WeightsKind::kOnline, 1),
      1, info.dataset().scaler_fingerprint(), "r");
  v1::PushWeightsResponse response;
  const grpc::Status status = PushRequests(channel, RequestsOf(third), &response);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("max_policies 2"));
}

TEST_F(LimitsTest, APushThatSendsNothingMore) {
  config.mutable_stream()->set_progress_deadline_seconds(0.2);
  Start();
  const auto stub = v1::Weights::NewStub(channel);
  grpc::ClientContext context;
  SetDeadline(context);
  v1::PushWeightsResponse response;
  const auto writer = stub->PushWeights(&context, &response);
  const grpc::Status status = writer->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(status.error_message(), HasSubstr("progress_deadline_seconds"));
}

TEST_F(LimitsTest, AConnectionThatIsTooOldIsReplacedWithoutLossOfItsStreams) {
  config.mutable_stream()->set_max_connection_age_seconds(0.3);
  Start();
  PushAllKinds(channel, info, 1, 0.5f);
  CollectClient client(channel);
  ASSERT_TRUE(client.Open(CollectClient::OpenOf("p", "g", "c")));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  uint64_t batches = 0;
  while (std::chrono::steady_clock::now() < until) {
    ASSERT_TRUE(client.Credit(1));
    ASSERT_TRUE(client.Next().has_value());
    ASSERT_TRUE(client.Acknowledge(batches++));
  }
  EXPECT_EQ(InfoOf(channel).run_id(), actor->run_id());
  client.HalfClose();
  EXPECT_TRUE(client.Finish().ok());
}

}  // namespace
}  // namespace vixen::server
