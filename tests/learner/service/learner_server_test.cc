// SPDX-License-Identifier: Apache-2.0
#include "learner/service/learner_server.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

namespace vixen::learner {
namespace {

class LearnerServerTest : public testing::Test {
 protected:
  void SetUp() override {
    v1::LearnerInfoResponse fixed;
    fixed.set_policy("p");
    auto listening = LearnerServer::Listen("127.0.0.1:0", fixed, book, metrics);
    ASSERT_TRUE(listening.ok()) << listening.status();
    server = *std::move(listening);
    address = "127.0.0.1:" + std::to_string(server->port());
    stub = v1::Learner::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  }

  RunBook book{"p", "g"};
  Metrics metrics;
  std::unique_ptr<LearnerServer> server;
  std::string address;
  std::unique_ptr<v1::Learner::Stub> stub;
};

TEST_F(LearnerServerTest, GivesTheBooksOfLiveAndOfEndedRuns) {
  book.RunOpened("a:1", 7);
  ASSERT_TRUE(book.Receive(7, 0, 32));
  book.Inserted(7, 32, {});
  book.RunOpened("a:1", 8);
  ASSERT_TRUE(book.Receive(8, 0, 30));
  book.Inserted(8, 29, {{"non_finite", 1}});
  EXPECT_FALSE(book.Receive(8, 0, 30));
  grpc::ClientContext context;
  v1::LearnerBalanceResponse response;
  ASSERT_TRUE(stub->GetBalance(&context, {}, &response).ok());
  ASSERT_EQ(response.sheets_size(), 2);
  for (const v1::LearnerSheet& sheet : response.sheets()) {
    EXPECT_EQ(sheet.ended(), sheet.run_id() == 7);
    EXPECT_EQ(sheet.actor(), "a:1");
    EXPECT_EQ(sheet.policy(), "p");
    EXPECT_EQ(sheet.group(), "g");
    uint64_t rows = sheet.inserted().rows() + sheet.duplicate().rows();
    for (const auto& [reason, amount] : sheet.rejected()) rows += amount.rows();
    EXPECT_EQ(sheet.received().rows(), rows);
  }
}

TEST_F(LearnerServerTest, SaysWhatTheLearnerIsAndHasDone) {
  metrics.updates.Increment(5);
  metrics.inserts.Increment(64);
  grpc::ClientContext context;
  v1::LearnerInfoResponse info;
  ASSERT_TRUE(stub->GetInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.policy(), "p");
  EXPECT_EQ(info.updates(), 5u);
  EXPECT_EQ(info.transitions(), 64u);
}

TEST_F(LearnerServerTest, AnAddressInUseIsNamed) {
  const auto second = LearnerServer::Listen(address, {}, book, metrics);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), testing::HasSubstr(address));
}

}  // namespace
}  // namespace vixen::learner
