// SPDX-License-Identifier: Apache-2.0
#include "learner/client/actor_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <semaphore>
#include <vector>

#include "learner/client/channel.h"
#include "tests/learner/client/scripted_actor.h"

namespace vixen::learner {
namespace {

class ActorLinkTest : public testing::Test {
 protected:
  void StartLink(std::function<absl::Status(const v1::GetInfoResponse&)> check =
                     [](const v1::GetInfoResponse&) { return absl::OkStatus(); }) {
    LinkOptions options{.actor = 3,
                        .address = actor_.address(),
                        .policy = "p",
                        .group = "g",
                        .consumer = "c",
                        .dataset_fingerprint = "fingerprint",
                        .name_taken_wait = std::chrono::milliseconds(500),
                        .check = std::move(check)};
    link_ = std::make_unique<ActorLink>(options, *MakeChannel(actor_.address(), v1::TlsSettings()),
                                        book_, events_);
    link_->Start();
  }
  ~ActorLinkTest() override {
    events_.Close();
    if (link_ != nullptr) link_->Stop();
  }

  ScriptedActor actor_;
  RunBook book_{"p", "g"};
  EventQueue events_{16};
  std::unique_ptr<ActorLink> link_;
};

// Reads until the client half-closes.
std::vector<v1::CollectRequest> ReadAll(ScriptedActor::Stream& stream) {
  std::vector<v1::CollectRequest> requests;
  v1::CollectRequest request;
  while (stream.Read(&request)) requests.push_back(request);
  return requests;
}

TEST_F(ActorLinkTest, OpensReceivesAcknowledgesAndEndsCleanly) {
  std::vector<v1::CollectRequest> requests;
  actor_.on_collect = [&](int, ScriptedActor::Stream& stream) {
    actor_.SendBatch(stream, 0);
    requests = ReadAll(stream);
    return grpc::Status::OK;
  };
  StartLink();
  const std::optional<StreamOpened> opened = NextEvent<StreamOpened>(events_);
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(opened->actor, 3u);
  EXPECT_EQ(opened->opened.run_id(), 77u);
  const std::optional<BatchArrived> batch = NextEvent<BatchArrived>(events_);
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->stream, opened->stream);
  EXPECT_EQ(batch->batch.header.sequence(), 0u);
  EXPECT_TRUE(link_->SendCredit(opened->stream, 2));
  EXPECT_FALSE(link_->SendCredit(opened->stream + 1, 2));
  link_->SendAcknowledge(77, 0);
  link_->SendAcknowledge(78, 0);  // of another run: not sent
  link_->HalfClose();
  EXPECT_TRUE(link_->WaitEnded(std::chrono::seconds(60)));

  const v1::Open open = actor_.opens().at(0);
  EXPECT_EQ(open.policy(), "p");
  EXPECT_EQ(open.group(), "g");
  EXPECT_EQ(open.consumer(), "c");
  EXPECT_EQ(open.dataset_fingerprint(), "fingerprint");
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].credit().n(), 2);
  EXPECT_EQ(requests[1].ack().run_id(), 77u);
}

TEST_F(ActorLinkTest, SaysOnTheNewStreamWhatWasInsertedWhileItOpened) {
  actor_.on_open = [&] {
    link_->SendAcknowledge(77, 5);
    link_->SendAcknowledge(78, 6);  // of a run that ended
  };
  std::vector<v1::CollectRequest> requests;
  actor_.on_collect = [&](int, ScriptedActor::Stream& stream) {
    requests = ReadAll(stream);
    return grpc::Status::OK;
  };
  StartLink();
  ASSERT_TRUE(NextEvent<StreamOpened>(events_).has_value());
  link_->HalfClose();
  EXPECT_TRUE(link_->WaitEnded(std::chrono::seconds(60)));
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].ack().run_id(), 77u);
  EXPECT_EQ(requests[0].ack().sequence(), 5u);
}

TEST_F(ActorLinkTest, ConnectsAgainAfterABrokenStreamAndTellsWhatItHolds) {
  std::counting_semaphore<2> received(0);  // the book has what came: before the next stream opens
  actor_.on_collect = [&](int number, ScriptedActor::Stream& stream) {
    actor_.SendBatch(stream, static_cast<uint64_t>(number));
    if (number < 2) {
      (void)received.try_acquire_for(std::chrono::seconds(60));
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "draining");
    }
    ReadAll(stream);
    return grpc::Status::OK;
  };
  book_.RunOpened(actor_.address(), 77);
  StartLink();
  uint64_t last_stream = 0;
  for (uint64_t sequence = 0; sequence < 3; ++sequence) {
    const std::optional<BatchArrived> batch = NextEvent<BatchArrived>(events_);
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(batch->batch.header.sequence(), sequence);
    EXPECT_GT(batch->stream, last_stream);
    last_stream = batch->stream;
    book_.Receive(77, sequence, 6);
    if (sequence == 2) break;
    received.release();
    const std::optional<StreamEnded> ended = NextEvent<StreamEnded>(events_);
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->status.code(), absl::StatusCode::kUnavailable);
  }
  const std::vector<v1::Open> opens = actor_.opens();
  ASSERT_EQ(opens.size(), 3u);
  EXPECT_EQ(opens[0].held_size(), 0);
  ASSERT_EQ(opens[2].held_size(), 1);
  EXPECT_EQ(opens[2].held(0).ranges(0).last(), 1u);
}

TEST_F(ActorLinkTest, GivesUpOnAnActorThatBreaksTheGrammar) {
  actor_.on_collect = [&](int, ScriptedActor::Stream& stream) {
    v1::CollectResponse response;
    response.mutable_chunk()->set_data("no header came before");
    stream.Write(response);
    ReadAll(stream);
    return grpc::Status::OK;
  };
  StartLink();
  const std::optional<ClientFailed> failed = NextEvent<ClientFailed>(events_);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(failed->status.message(), testing::HasSubstr(actor_.address()));
}

TEST_F(ActorLinkTest, GivesUpOnARefusal) {
  actor_.on_collect = [&](int, ScriptedActor::Stream&) {
    return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "fingerprint aa, here bb");
  };
  StartLink();
  const std::optional<ClientFailed> failed = NextEvent<ClientFailed>(events_);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(failed->status.message(), testing::HasSubstr("fingerprint aa, here bb"));
}

TEST_F(ActorLinkTest, ANameThatStaysTakenEndsWithTheRemedy) {
  actor_.on_collect = [&](int, ScriptedActor::Stream&) {
    return grpc::Status(grpc::StatusCode::ALREADY_EXISTS, "taken");
  };
  StartLink();
  const std::optional<ClientFailed> failed = NextEvent<ClientFailed>(events_);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(failed->status.message(), testing::HasSubstr("--consumer"));
  EXPECT_GT(actor_.opens().size(), 1u);
}

TEST_F(ActorLinkTest, SendsWhatIsDurableOfTheLiveRunOnly) {
  std::vector<v1::CollectRequest> requests;
  actor_.on_collect = [&](int, ScriptedActor::Stream& stream) {
    requests = ReadAll(stream);
    return grpc::Status::OK;
  };
  StartLink();
  ASSERT_TRUE(NextEvent<StreamOpened>(events_).has_value());
  v1::RunRanges ranges;
  ranges.set_run_id(78);
  ranges.add_ranges()->set_last(3);
  link_->SendDurable(ranges);
  ranges.set_run_id(77);
  link_->SendDurable(ranges);
  link_->HalfClose();
  ASSERT_TRUE(NextEvent<StreamEnded>(events_).has_value());
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].durable().ranges().run_id(), 77u);
  EXPECT_EQ(requests[0].durable().ranges().ranges(0).last(), 3u);
}

TEST_F(ActorLinkTest, GivesUpWhenTheActorDoesOtherWork) {
  StartLink([](const v1::GetInfoResponse&) { return absl::FailedPreconditionError("other bars"); });
  const std::optional<ClientFailed> failed = NextEvent<ClientFailed>(events_);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->status.message(), "other bars");
  EXPECT_TRUE(actor_.opens().empty());
}

}  // namespace
}  // namespace vixen::learner
