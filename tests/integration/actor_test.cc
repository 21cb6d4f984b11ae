// SPDX-License-Identifier: Apache-2.0
// The real vixen-actor, as a learner and an operator meet it.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <cstring>

#include "base/str_cat.h"
#include "kernels/nn/network.h"
#include "proto/codec/convert.h"
#include "proto/telemetry/http_get.h"
#include "tests/integration/actor_fixture.h"
#include "tests/server/collect_client.h"
#include "tests/server/push_client.h"

namespace vixen {
namespace {

using grpc::StatusCode;
using kernels::WeightsKind;
using server::CollectClient;
using server::TestWeights;
using ::testing::HasSubstr;
using ::testing::Not;

class ActorTest : public OneActorTest {
 protected:
  std::vector<std::string> Arguments(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"--dataset",
                                          dataset,
                                          "--listen",
                                          "127.0.0.1:0",
                                          "--metrics_listen",
                                          "127.0.0.1:0",
                                          "--port_file",
                                          port_file,
                                          "--episodes",
                                          "8",
                                          "--steps",
                                          "16",
                                          "--hidden1",
                                          "32",
                                          "--hidden2",
                                          "32",
                                          "--value_hidden",
                                          "16",
                                          "--advantage_hidden",
                                          "16",
                                          "--curiosity_hidden",
                                          "16",
                                          "--log_level",
                                          "debug"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  void Start(const std::vector<std::string>& more = {}) {
    StartActor(Arguments(more), 2);
    ASSERT_EQ(ports.size(), 2u);
    channel = grpc::CreateChannel(base::StrCat("127.0.0.1:", ports[0]),
                                  grpc::InsecureChannelCredentials());
    info = server::InfoOf(channel);
  }
  TestWeights Weights(WeightsKind kind, uint64_t version, float value = 0.01f) {
    return server::MakeTestWeights(
        server::ConstantParameters(codec::FromProto(info.architecture()), kind, value), version,
        info.dataset().scaler_fingerprint());
  }
  grpc::Status Push(const TestWeights& weights) {
    v1::PushWeightsResponse response;
    return server::PushRequests(channel, server::RequestsOf(weights), &response);
  }
  // Refused with this code and word, and what is live is as before.
  void ExpectRefused(const TestWeights& weights, StatusCode code, const std::string& word) {
    const grpc::Status status = Push(weights);
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(word));
    const v1::GetInfoResponse now = server::InfoOf(channel);
    ASSERT_EQ(now.policies_size(), 1);
    EXPECT_EQ(now.policies(0).online_version(), 5u);
    EXPECT_EQ(now.policies(0).epsilon(), 0.5f);
  }

  std::shared_ptr<grpc::Channel> channel;
  v1::GetInfoResponse info;
};

TEST_F(ActorTest, ServesBatchesAgainstCreditAndStopsCleanly) {
  Start();
  server::PushAllKinds(channel, info, 1, 0.01f);
  CollectClient client(channel);
  v1::Open open = CollectClient::OpenOf("p", "g", "c");
  open.mutable_encoding()->set_terms(true);
  open.mutable_encoding()->set_state(true);
  open.set_dataset_fingerprint(info.dataset().fingerprint());
  ASSERT_TRUE(client.Open(open));
  ASSERT_TRUE(client.Credit(3));
  for (uint64_t sequence = 0; sequence < 3; ++sequence) {
    const auto batch = client.Next();
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(batch->header.sequence(), sequence);
    EXPECT_EQ(batch->batch.statistics.valid_rows, 8u * 16u);
    ASSERT_TRUE(client.Acknowledge(sequence));
  }
  const v1::BalanceSheet sheet = server::BalanceOf(channel, "p", "g");
  EXPECT_EQ(sheet.offered().batches(), 3u);
  EXPECT_EQ(sheet.offered().rows(), 3u * 8u * 16u);

  const std::string metrics = telemetry::HttpGet(ports[1], "/metrics").value_or("");
  EXPECT_THAT(metrics, HasSubstr("vixen_transitions_total{policy=\"p\"} 384"));
  EXPECT_THAT(metrics, HasSubstr("vixen_build_info{"));
  EXPECT_THAT(
      metrics,
      HasSubstr("vixen_balance_transitions{policy=\"p\",group=\"g\",state=\"offered\"} 384"));

  actor->Signal(SIGTERM);
  EXPECT_EQ(client.Finish().error_code(), StatusCode::UNAVAILABLE);
  ASSERT_TRUE(actor->WaitForExit());
  EXPECT_EQ(actor->exit_code(), 0) << actor->Errors();
}

TEST_F(ActorTest, RefusedWeightsChangeNothing) {
  Start();
  TestWeights live = Weights(WeightsKind::kOnline, 5);
  live.header.set_epsilon(0.5f);
  ASSERT_TRUE(Push(live).ok());

  TestWeights bad = Weights(WeightsKind::kOnline, 6, 0.02f);
  bad.header.set_epsilon(0.1f);
  const TestWeights good = bad;

  bad.header.set_scaler_fingerprint(std::string(32, 1));
  ExpectRefused(bad, StatusCode::FAILED_PRECONDITION, "0101010101");
  bad = good;
  bad.header.mutable_architecture()->set_hidden1(64);
  ExpectRefused(bad, StatusCode::FAILED_PRECONDITION, "this actor runs");
  bad = good;
  bad.header.set_sha256(std::string(32, 2));
  ExpectRefused(bad, StatusCode::INVALID_ARGUMENT, "SHA-256");
  bad = good;
  const float nan = NAN;
  std::memcpy(bad.image.data() + bad.image.size() - sizeof(nan), &nan, sizeof(nan));
  ExpectRefused(bad, StatusCode::INVALID_ARGUMENT, "nan");
  bad = good;
  bad.header.set_version(4);
  ExpectRefused(bad, StatusCode::ABORTED, "older");
  bad = good;
  bad.header.set_version(5);
  ExpectRefused(bad, StatusCode::ABORTED, "SHA-256");
  bad = good;
  bad.header.set_size(good.image.size() + 1);
  ExpectRefused(bad, StatusCode::INVALID_ARGUMENT, "bytes came");
  bad = good;
  bad.header.set_epsilon(2);
  ExpectRefused(bad, StatusCode::INVALID_ARGUMENT, "epsilon");

  // Another architecture's tensors under this actor's header.
  kernels::Architecture wide = codec::FromProto(info.architecture());
  wide.hidden2 = 48;
  bad = server::MakeTestWeights(server::ConstantParameters(wide, WeightsKind::kOnline, 0.02f), 6,
                                info.dataset().scaler_fingerprint());
  *bad.header.mutable_architecture() = info.architecture();
  ExpectRefused(bad, StatusCode::INVALID_ARGUMENT, "shared_layers");

  // One tensor missing.
  base::TensorFileWriter writer;
  const std::vector<float> zeros(32, 0.0f);
  writer.Tensor<float>("shared_layers.0.bias", {32}, zeros);
  bad = good;
  bad.image = *writer.Serialize();
  bad.header.set_size(bad.image.size());
  ExpectRefused(bad, StatusCode::INVALID_ARGUMENT, "shared_layers.0.weight");

  EXPECT_TRUE(Push(good).ok());
}

TEST_F(ActorTest, APortInUseIsOneLineThatNamesTheAddress) {
  Start();
  const std::string address = base::StrCat("127.0.0.1:", ports[0]);
  const auto second = vixen::testing::RunProgram(
      folder.path(), "vixen-actor",
      {"--dataset", dataset, "--listen", address, "--metrics_listen", "", "--log_level", "error"});
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_EQ(second.errors, "vixen-actor: cannot listen on " + address +
                               ": Address already in use; choose another address with --listen\n");
}

TEST_F(ActorTest, WhatCannotWorkIsRefusedAtStart) {
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--log_level", "error"});
    return vixen::testing::RunProgram(folder.path(), "vixen-actor", arguments);
  };
  const auto missing = run({"--dataset", folder.File("none"), "--metrics_listen", ""});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.errors, HasSubstr("none: No such file"));
  const auto unset = run({"--metrics_listen", ""});
  EXPECT_EQ(unset.exit_code, 2);
  EXPECT_THAT(unset.errors, HasSubstr("dataset is not set"));
  const auto open = run({"--dataset", dataset, "--listen", "0.0.0.0:0"});
  EXPECT_EQ(open.exit_code, 2);
  EXPECT_THAT(open.errors, HasSubstr("insecure"));
  const auto unwritable = run({"--dataset", dataset, "--listen", "127.0.0.1:0", "--metrics_listen",
                               "", "--port_file", folder.File("no/such/folder")});
  EXPECT_EQ(unwritable.exit_code, 1);
  EXPECT_THAT(unwritable.errors, HasSubstr("no/such/folder"));
  const auto contradiction = run({"--dataset", dataset, "--carry_over", "--recycle=false"});
  EXPECT_EQ(contradiction.exit_code, 2);
  EXPECT_THAT(contradiction.errors, HasSubstr("recycle"));
}

TEST_F(ActorTest, LogsAreJsonObjectsWhenAskedFor) {
  Start({"--log_format", "json"});
  actor->Signal(SIGINT);
  ASSERT_TRUE(actor->WaitForExit());
  EXPECT_EQ(actor->exit_code(), 0);
  EXPECT_THAT(actor->Errors(), HasSubstr("\"level\":\"info\""));
  EXPECT_EQ(actor->Errors().front(), '{');
}

TEST_F(ActorTest, AFrozenConsumerDoesNotHoldUpTheStop) {
  Start({"--grace_seconds", "2", "--episodes", "512", "--steps", "256"});
  server::PushAllKinds(channel, info, 1, 0.01f);
  // A connection of its own, which nobody reads from once the stream is open.
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  CollectClient client(grpc::CreateCustomChannel(base::StrCat("127.0.0.1:", ports[0]),
                                                 grpc::InsecureChannelCredentials(), arguments),
                       180);
  v1::Open open = CollectClient::OpenOf("p", "g", "c");
  open.mutable_encoding()->set_state(true);
  ASSERT_TRUE(client.Open(open));
  ASSERT_TRUE(client.Credit(20));
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (server::BalanceOf(channel, "p", "g").retained().batches() < 4) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit) << "launches go on while nothing is taken";
  }
  const auto start = std::chrono::steady_clock::now();
  actor->Signal(SIGTERM);
  ASSERT_TRUE(actor->WaitForExit());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(4));
  EXPECT_EQ(actor->exit_code(), 0) << actor->Errors();
  EXPECT_THAT(actor->Errors(), Not(HasSubstr("hangs")));
}

}  // namespace
}  // namespace vixen
