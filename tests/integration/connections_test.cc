// SPDX-License-Identifier: Apache-2.0
// The real vixen-actor and more connections than it wants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str_cat.h"
#include "proto/telemetry/http_get.h"
#include "proto/transport/channel.h"
#include "tests/integration/actor_fixture.h"
#include "tests/server/collect_client.h"
#include "tests/server/push_client.h"

namespace vixen {
namespace {

using server::CollectClient;

// TCP connections that send nothing; closed at the end.
class SilentPeers {
 public:
  SilentPeers(int port, int count) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < count; ++i) {
      const int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (peer < 0) break;
      peers_.push_back(peer);
      EXPECT_EQ(connect(peer, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0) << i;
    }
  }
  ~SilentPeers() {
    for (const int peer : peers_) close(peer);
  }
  size_t size() const { return peers_.size(); }

 private:
  std::vector<int> peers_;
};

class ConnectionsTest : public OneActorTest {
 protected:
  void SetUp() override {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    OneActorTest::SetUp();
    StartActor({"--dataset", dataset, "--port_file", port_file, "--listen", "127.0.0.1:0",
                "--metrics_listen", "127.0.0.1:0", "--episodes", "8", "--steps", "16"},
               2);
    ASSERT_EQ(ports.size(), 2u);
    channel = Connect();
    info = server::InfoOf(channel);
    server::PushAllKinds(channel, info, 1, 0.01f);
  }
  std::shared_ptr<grpc::Channel> Connect() {
    return *transport::MakeChannel(base::StrCat("127.0.0.1:", ports[0]), {});
  }
  void LimitDescriptors(uint64_t most) {
    rlimit limit{};
    ASSERT_EQ(prlimit(actor->pid(), RLIMIT_NOFILE, nullptr, &limit), 0);
    limit.rlim_cur = most;
    ASSERT_EQ(prlimit(actor->pid(), RLIMIT_NOFILE, &limit, nullptr), 0);
  }
  static grpc::Status GetInfo(const std::shared_ptr<grpc::Channel>& through, int seconds) {
    grpc::ClientContext context;
    server::SetDeadline(context, seconds);
    v1::GetInfoResponse response;
    return v1::Actor::NewStub(through)->GetInfo(&context, {}, &response);
  }
  static void Take(CollectClient& client, int batches) {
    for (int i = 0; i < batches; ++i) {
      ASSERT_TRUE(client.Credit(1));
      const auto batch = client.Next();
      ASSERT_TRUE(batch.has_value());
      ASSERT_TRUE(client.Acknowledge(batch->header.sequence()));
    }
  }

  std::shared_ptr<grpc::Channel> channel;
  v1::GetInfoResponse info;
};

TEST_F(ConnectionsTest, FiveHundredSilentConnectionsDoNotStopALearner) {
  CollectClient before(channel);
  ASSERT_TRUE(before.Open(CollectClient::OpenOf("p", "g", "before")));
  const SilentPeers silent(ports[0], 500);
  ASSERT_EQ(silent.size(), 500u);
  Take(before, 3);
  const auto other = Connect();
  ASSERT_TRUE(GetInfo(other, 60).ok());
  CollectClient after(other);
  ASSERT_TRUE(after.Open(CollectClient::OpenOf("p", "h", "after")));
  Take(after, 3);
}

TEST_F(ConnectionsTest, WithoutDescriptorsTheListenerTurnsAwayAndGoesOnLater) {
  CollectClient learner(channel, 180);
  ASSERT_TRUE(learner.Open(CollectClient::OpenOf("p", "g", "c")));
  for (const uint64_t limit : {uint64_t{200}, uint64_t{3}}) {  // above what is spare; below all
    SCOPED_TRACE(limit);
    LimitDescriptors(limit);
    {
      const SilentPeers silent(ports[0], 300);
      Take(learner, 3);
      EXPECT_FALSE(GetInfo(Connect(), 2).ok());
      Take(learner, 3);
    }
    LimitDescriptors(4096);
    // Within the time in which silent peers that are gone are noticed.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    grpc::Status status;
    do {
      status = GetInfo(Connect(), 5);
    } while (!status.ok() && std::chrono::steady_clock::now() < deadline);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  const std::string metrics = telemetry::HttpGet(ports[1], "/metrics").value_or("");
  EXPECT_THAT(metrics, ::testing::ContainsRegex("vixen_connections_turned_away_total [1-9]"));
}

}  // namespace
}  // namespace vixen
