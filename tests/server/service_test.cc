// SPDX-License-Identifier: Apache-2.0
// The services through a real loopback connection, over executors that compute nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/file.h"
#include "tests/server/service_fixture.h"

namespace vixen::server {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;

TEST_F(ServiceTest, ABatchArrivesWholeAndTheBooksSayWhere) {
  config.mutable_stream()->set_chunk_bytes(4096);
  config.mutable_environment()->set_steps(200);
  Start();
  PushAllKinds(channel, info, 1, 0.5f);
  CollectClient client(channel);
  ASSERT_TRUE(client.Open(CollectClient::OpenOf("p", "g", "c")));
  EXPECT_EQ(client.opened.run_id(), actor->run_id());
  ASSERT_TRUE(client.Credit(2));
  for (uint64_t sequence = 0; sequence < 2; ++sequence) {
    auto batch = client.Next();
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(batch->header.sequence(), sequence);
    EXPECT_EQ(batch->header.online_version(), 1u);
    EXPECT_EQ(batch->batch.view().bar[799], sequence);
  }
  EXPECT_EQ(BalanceOf(channel, "p", "g").in_flight().batches(), 2u);
  ASSERT_TRUE(client.Acknowledge(0));
  EXPECT_TRUE(EventuallyBalance([](const auto& sheet) {
    return sheet.acknowledged().rows() == 800 && sheet.in_flight().rows() == 800;
  }));
  v1::CollectRequest durable;
  durable.mutable_durable()->mutable_ranges()->set_run_id(actor->run_id());
  durable.mutable_durable()->mutable_ranges()->add_ranges();
  ASSERT_TRUE(client.Send(durable));
  EXPECT_TRUE(EventuallyBalance([](const auto& sheet) { return sheet.durable().rows() == 800; }));
  client.HalfClose();
  EXPECT_TRUE(client.Finish().ok());
  EXPECT_TRUE(EventuallyBalance([](const auto& sheet) { return sheet.retained().rows() == 800; }));
}

TEST_F(ServiceTest, EachPolicyHasItsOwnWeightsEpsilonSeedAndCredit) {
  Start();
  struct Policy {
    std::string name;
    uint64_t version;
    float epsilon;
    uint64_t credit;
  };
  std::vector<uint64_t> seeds;
  for (const Policy& policy : {Policy{"p", 3, 0.5f, 2}, Policy{"q", 7, 0.25f, 3}}) {
    PushAllKinds(channel, info, policy.version, 0.5f, policy.name);
    v1::PushWeightsRequest request;
    request.mutable_header()->set_policy(policy.name);
    request.mutable_header()->set_epsilon(policy.epsilon);
    v1::PushWeightsResponse response;
    const grpc::Status pushed = PushRequests(channel, {request}, &response);
    ASSERT_TRUE(pushed.ok()) << pushed.error_message();
    CollectClient client(channel);
    ASSERT_TRUE(client.Open(CollectClient::OpenOf(policy.name, "g", "c")));
    ASSERT_TRUE(client.Credit(static_cast<int64_t>(policy.credit)));
    for (uint64_t sequence = 0; sequence < policy.credit; ++sequence) {
      const auto batch = client.Next();
      ASSERT_TRUE(batch.has_value());
      EXPECT_EQ(batch->header.policy(), policy.name);
      EXPECT_EQ(batch->header.sequence(), sequence);
      EXPECT_EQ(batch->header.online_version(), policy.version);
      EXPECT_EQ(batch->header.epsilon(), policy.epsilon);
      ASSERT_TRUE(client.Acknowledge(sequence));
      if (sequence == 0) seeds.push_back(batch->header.run_seed());
      EXPECT_EQ(batch->header.run_seed(), seeds.back());
    }
    client.HalfClose();
    EXPECT_TRUE(client.Finish().ok());
    EXPECT_EQ(BalanceOf(channel, policy.name, "g").offered().batches(), policy.credit);
  }
  EXPECT_NE(seeds[0], seeds[1]);
}

TEST_F(ServiceTest, EveryEncodingArrives) {
  config.mutable_environment()->set_carry_over(true);
  Start();
  PushAllKinds(channel, info, 1, 0.5f);
  for (int bits = 0; bits < 32; ++bits) {
    v1::Open open = CollectClient::OpenOf("p", base::StrCat("g", bits), "c");
    v1::Encoding& encoding = *open.mutable_encoding();
    encoding.set_terms(bits & 1);
    encoding.set_state(bits & 2);
    encoding.set_next_state(bits & 4);
    encoding.set_fp16(bits & 8);
    encoding.set_slot_states(bits & 16);
    if (encoding.next_state() && !encoding.state()) continue;
    CollectClient client(channel);
    ASSERT_TRUE(client.Open(open)) << client.Finish().error_message();
    ASSERT_TRUE(client.Credit(1));
    EXPECT_TRUE(client.Next().has_value()) << encoding.ShortDebugString();
  }
}

TEST_F(ServiceTest, CompressedBatchesArriveAsTheyWere) {
  config.mutable_stream()->set_compression(v1::COMPRESSION_GZIP);
  Start();
  PushAllKinds(channel, info, 1, 0.5f);
  CollectClient client(channel);
  ASSERT_TRUE(client.Open(CollectClient::OpenOf("p", "g", "c")));
  ASSERT_TRUE(client.Credit(3));
  for (uint64_t sequence = 0; sequence < 3; ++sequence) {
    auto batch = client.Next();
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(batch->batch.view().bar[batch->batch.rows() - 1], sequence);
  }
}

TEST_F(ServiceTest, AnOpenThatDoesNotFitEndsWithTheStatusOfTheGrammar) {
  Start();
  const v1::Open good = CollectClient::OpenOf("p", "g", "c");
  const auto with = [&](auto change) {
    v1::Open open = good;
    change(open);
    return StatusOfOpen(open);
  };
  for (const std::string& name : {std::string(), std::string("a b"), std::string(65, 'x')}) {
    EXPECT_EQ(with([&](auto& open) { open.set_policy(name); }).error_code(),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(with([&](auto& open) { open.set_group(name); }).error_code(),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(with([&](auto& open) { open.set_consumer(name); }).error_code(),
              StatusCode::INVALID_ARGUMENT);
  }
  const grpc::Status other =
      with([](auto& open) { open.set_dataset_fingerprint(std::string(32, 1)); });
  EXPECT_EQ(other.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(other.error_message(), HasSubstr("0101010101"));
  EXPECT_EQ(with([](auto& open) { open.mutable_encoding()->set_next_state(true); }).error_code(),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(with([](auto& open) { open.mutable_encoding()->set_slot_states(true); }).error_code(),
            StatusCode::INVALID_ARGUMENT);
  CollectClient first(channel);
  ASSERT_TRUE(first.Open(good));
  EXPECT_EQ(StatusOfOpen(good).error_code(), StatusCode::ALREADY_EXISTS);
}

TEST_F(ServiceTest, MessagesAgainstTheGrammarEndTheStream) {
  Start();
  const auto status_after = [&](const v1::CollectRequest& request) {
    CollectClient client(channel);
    EXPECT_TRUE(client.Open(CollectClient::OpenOf("p", "g", "c")));
    client.Send(request);
    return client.Finish();
  };
  v1::CollectRequest request;
  EXPECT_EQ(status_after(request).error_code(), StatusCode::INVALID_ARGUMENT);
  for (const int64_t n : {int64_t{0}, int64_t{-1}, int64_t{65}, INT64_MAX}) {
    request.mutable_credit()->set_n(n);
    EXPECT_EQ(status_after(request).error_code(), StatusCode::INVALID_ARGUMENT) << n;
  }
  *request.mutable_open() = CollectClient::OpenOf("p", "g", "c2");
  EXPECT_EQ(status_after(request).error_code(), StatusCode::INVALID_ARGUMENT);
  request.mutable_ack()->set_run_id(actor->run_id());
  EXPECT_EQ(status_after(request).error_code(), StatusCode::NOT_FOUND);
  request.mutable_durable()->mutable_ranges()->set_run_id(1);
  EXPECT_EQ(status_after(request).error_code(), StatusCode::NOT_FOUND);

  CollectClient early(channel);
  early.Credit(1);
  EXPECT_EQ(early.Finish().error_code(), StatusCode::INVALID_ARGUMENT);
  CollectClient nothing(channel);
  nothing.HalfClose();
  EXPECT_EQ(nothing.Finish().error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServiceTest, ACancelledConsumersBatchGoesToItsGroup) {
  Start();
  PushAllKinds(channel, info, 1, 0.5f);
  {
    CollectClient client(channel);
    ASSERT_TRUE(client.Open(CollectClient::OpenOf("p", "g", "c")));
    ASSERT_TRUE(client.Credit(1));
    ASSERT_TRUE(client.Next().has_value());
    client.Cancel();
    EXPECT_EQ(client.Finish().error_code(), StatusCode::CANCELLED);
  }
  EXPECT_TRUE(EventuallyBalance([](const auto& sheet) { return sheet.retained().batches() == 1; }));
  CollectClient other(channel);
  ASSERT_TRUE(other.Open(CollectClient::OpenOf("p", "g", "other")));
  ASSERT_TRUE(other.Credit(1));
  const auto again = other.Next();
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->header.sequence(), 0u);
  EXPECT_EQ(again->header.delivery(), 2u);
}

TEST_F(ServiceTest, AConsumerThatEndedCleanlyComesBackAtOnceUnderItsName) {
  config.mutable_stream()->set_max_streams(1);
  Start();
  for (int i = 0; i < 50; ++i) {
    CollectClient client(channel);
    ASSERT_TRUE(client.Open(CollectClient::OpenOf("p", "g", "c")))
        << i << ": " << client.Finish().error_message();
    client.HalfClose();
    ASSERT_TRUE(client.Finish().ok());
  }
}

TEST_F(ServiceTest, TellsThatWeightsAreMissing) {
  Start();
  CollectClient client(channel);
  ASSERT_TRUE(client.Open(CollectClient::OpenOf("p", "g", "c")));
  ASSERT_TRUE(client.Credit(1));
  ASSERT_TRUE(client.NextNotice());
  EXPECT_EQ(InfoOf(channel).policies(0).waiting_for(), "weights: online, target, curiosity");
  PushAllKinds(channel, info, 1, 0.5f);
  EXPECT_TRUE(client.Next().has_value());
  ASSERT_EQ(client.notices.size(), 1u);
  EXPECT_EQ(client.notices[0].kind(), v1::Notice::KIND_WAITING_FOR_WEIGHTS);
}

TEST_F(ServiceTest, OneStreamTooManyIsRefusedAndASilentOneEvicted) {
  config.mutable_stream()->set_max_streams(1);
  // Long beside the time between a call's begin and its `open`.
  config.mutable_stream()->set_progress_deadline_seconds(2);
  Start();
  CollectClient silent(channel);
  EXPECT_EQ(silent.Finish().error_code(), StatusCode::DEADLINE_EXCEEDED);
  CollectClient first(channel);
  ASSERT_TRUE(first.Open(CollectClient::OpenOf("p", "g", "c")));
  EXPECT_EQ(StatusOfOpen(CollectClient::OpenOf("p", "g", "d")).error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(ServiceTest, AConsumerThatTakesNothingIsEvictedAndOthersGoOn) {
  config.mutable_environment()->set_episodes(512);
  config.mutable_environment()->set_steps(512);
  // Long beside the time that the quick one needs for 15 MB under ThreadSanitizer.
  config.mutable_stream()->set_progress_deadline_seconds(3);
  Start();
  PushAllKinds(channel, info, 1, 0.5f);
  const std::shared_ptr<grpc::Channel> other_channel = Connect();
  CollectClient frozen(other_channel);
  ASSERT_TRUE(frozen.Open(CollectClient::OpenOf("p", "g", "frozen")));
  ASSERT_TRUE(frozen.Credit(4));
  EXPECT_TRUE(EventuallyBalance([](const auto& sheet) { return sheet.in_flight().batches() > 0; }));
  CollectClient quick(channel);
  ASSERT_TRUE(quick.Open(CollectClient::OpenOf("p", "h", "quick")));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(quick.Credit(1));
    const auto batch = quick.Next();
    ASSERT_TRUE(batch.has_value());
    ASSERT_TRUE(quick.Acknowledge(batch->header.sequence()));
  }
  EXPECT_TRUE(EventuallyBalance([](const auto& sheet) {
    return sheet.in_flight().batches() == 0 && sheet.retained().batches() > 0;
  }));
  EXPECT_FALSE(frozen.Finish().ok());
}

TEST_F(ServiceTest, StreamsTheDatasetFromAnyOffset) {
  Start();
  const std::string file = *base::ReadFile(config.dataset());
  const auto stub = v1::Actor::NewStub(channel);
  const auto fetch = [&](uint64_t offset, const std::string& fingerprint, std::string& bytes) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::GetDatasetRequest request;
    request.set_offset(offset);
    request.set_fingerprint(fingerprint);
    const auto reader = stub->GetDataset(&context, request);
    v1::GetDatasetResponse response;
    while (reader->Read(&response)) {
      EXPECT_EQ(response.offset(), offset + bytes.size());
      EXPECT_EQ(response.total_bytes(), file.size());
      bytes += response.data();
    }
    return reader->Finish();
  };
  for (const uint64_t offset : {size_t{0}, size_t{1}, file.size() / 2, file.size()}) {
    std::string bytes;
    EXPECT_TRUE(fetch(offset, info.dataset().fingerprint(), bytes).ok());
    EXPECT_EQ(bytes, file.substr(offset));
  }
  std::string none;
  EXPECT_EQ(fetch(file.size() + 1, "", none).error_code(), StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(fetch(0, std::string(32, 1), none).error_code(), StatusCode::FAILED_PRECONDITION);
}

TEST_F(ServiceTest, GivesBackTheExactWeights) {
  Start();
  const TestWeights weights = MakeTestWeights(
      ConstantParameters(codec::FromProto(info.architecture()), kernels::WeightsKind::kTarget, 1),
      9, info.dataset().scaler_fingerprint());
  v1::PushWeightsResponse response;
  ASSERT_TRUE(PushRequests(channel, RequestsOf(weights), &response).ok());
  const auto stub = v1::Weights::NewStub(channel);
  const auto get = [&](v1::WeightsKind kind, TestWeights& live) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::GetWeightsRequest request;
    request.set_policy("p");
    request.set_kind(kind);
    const auto reader = stub->GetWeights(&context, request);
    v1::GetWeightsResponse part;
    while (reader->Read(&part)) {
      if (part.has_header()) live.header = part.header();
      live.image += part.chunk();
    }
    return reader->Finish();
  };
  TestWeights live;
  ASSERT_TRUE(get(v1::WEIGHTS_KIND_TARGET, live).ok());
  EXPECT_EQ(live.image, weights.image);
  EXPECT_EQ(live.header.SerializeAsString(), weights.header.SerializeAsString());
  EXPECT_EQ(get(v1::WEIGHTS_KIND_ONLINE, live).error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(get(v1::WEIGHTS_KIND_UNSPECIFIED, live).error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServiceTest, StoppingSendsWhatIsReservedAndSaysWhy) {
  Start();
  PushAllKinds(channel, info, 1, 0.5f);
  CollectClient client(channel);
  ASSERT_TRUE(client.Open(CollectClient::OpenOf("p", "g", "c")));
  control.CloseGate();
  ASSERT_TRUE(client.Credit(5));
  control.WaitUntilInside();
  std::thread stopper(
      [&] { actor->Stop(std::chrono::steady_clock::now() + std::chrono::seconds(10)); });
  v1::GetInfoResponse now;
  while (!now.draining()) now = InfoOf(channel);
  EXPECT_TRUE(client.NextNotice());  // by then what was not reserved is taken back
  control.OpenGate();
  EXPECT_TRUE(client.Next().has_value());
  const grpc::Status status = client.Finish();
  stopper.join();
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("draining"));
  ASSERT_EQ(client.notices.size(), 1u);
  EXPECT_EQ(client.notices[0].kind(), v1::Notice::KIND_DRAINING);
  EXPECT_EQ(control.launches, 1);
}

TEST_F(ServiceTest, TooManyFailedLaunchesEndTheActor) {
  Start();
  control.fail_launches = 1000;
  PushAllKinds(channel, info, 1, 0.5f);
  CollectClient client(channel);
  ASSERT_TRUE(client.Open(CollectClient::OpenOf("p", "g", "c")));
  ASSERT_TRUE(client.Credit(1));
  EXPECT_EQ(actor->WaitForStop().code(), absl::StatusCode::kInternal);
}

TEST_F(ServiceTest, TheDrainCallAsksForAStop) {
  Start();
  const auto stub = v1::Admin::NewStub(channel);
  grpc::ClientContext context;
  SetDeadline(context);
  v1::DrainResponse response;
  ASSERT_TRUE(stub->Drain(&context, {}, &response).ok());
  EXPECT_TRUE(actor->WaitForStop().ok());
}

}  // namespace
}  // namespace vixen::server
