// SPDX-License-Identifier: Apache-2.0
// The real vixen-actor under mTLS, with certificates made by openssl (scripts/dev-certs.sh).
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/str_cat.h"
#include "proto/telemetry/http_get.h"
#include "proto/transport/channel.h"
#include "tests/integration/actor_fixture.h"
#include "tests/server/collect_client.h"
#include "tests/server/push_client.h"

namespace vixen {
namespace {

using grpc::StatusCode;
using server::CollectClient;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kPatience(60);

class TlsTest : public OneActorTest {
 protected:
  void SetUp() override {
    OneActorTest::SetUp();
    MakeCertificates(certificates);
  }
  static void MakeCertificates(const std::string& folder, const std::string& options = "") {
    const char* source = std::getenv("VIXEN_SOURCE_DIR");
    ASSERT_NE(source, nullptr);
    const std::string command =
        base::StrCat(source, "/scripts/dev-certs.sh ", options, " ", folder);
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  static v1::TlsSettings Tls(const std::string& folder, const std::string& name) {
    v1::TlsSettings tls;
    tls.set_tls_ca(folder + "/ca.pem");
    if (!name.empty()) {
      tls.set_tls_certificate(base::StrCat(folder, "/", name, ".pem"));
      tls.set_tls_key(base::StrCat(folder, "/", name, ".key"));
    }
    return tls;
  }
  void Start(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"--dataset", dataset, "--port_file", port_file};
    for (const char* listen : {"--listen", "--metrics_listen", "--health_listen"}) {
      arguments.insert(arguments.end(), {listen, "127.0.0.1:0"});
    }
    for (const char* width :
         {"--hidden1", "--hidden2", "--value_hidden", "--advantage_hidden", "--curiosity_hidden"}) {
      arguments.insert(arguments.end(), {width, "16"});
    }
    arguments.insert(arguments.end(), {"--episodes", "8", "--steps", "16"});
    arguments.insert(arguments.end(), {"--tls_certificate", certificates + "/actor.pem"});
    arguments.insert(arguments.end(), {"--tls_key", certificates + "/actor.key"});
    arguments.insert(arguments.end(), {"--tls_ca", certificates + "/ca.pem"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    StartActor(arguments, 3);
  }
  std::shared_ptr<grpc::Channel> Connect(const v1::TlsSettings& tls) {
    auto channel = transport::MakeChannel(base::StrCat("127.0.0.1:", ports[0]), tls);
    EXPECT_TRUE(channel.ok()) << channel.status();
    return *channel;
  }
  std::shared_ptr<grpc::Channel> As(const std::string& name) {
    return Connect(Tls(certificates, name));
  }
  static grpc::Status GetInfo(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    server::SetDeadline(context);
    v1::GetInfoResponse info;
    return v1::Actor::NewStub(channel)->GetInfo(&context, {}, &info);
  }
  double Metric(const std::string& name) const {
    const std::string text = telemetry::HttpGet(ports[1], "/metrics").value_or("");
    const size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::atof(text.c_str() + at + name.size() + 2);
  }
  ::testing::AssertionResult EventuallyMetric(const std::string& name, double value) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (Metric(name) != value) {
      if (std::chrono::steady_clock::now() > deadline) {
        return ::testing::AssertionFailure() << name << " is " << Metric(name);
      }
      std::this_thread::yield();
    }
    return ::testing::AssertionSuccess();
  }

  const std::string certificates = folder.File("certificates");
};

TEST_F(TlsTest, EachRoleOpensItsOwnServiceOnly) {
  Start();
  struct Case {
    const char* name;
    bool collect, push, admin;
  };
  for (const Case& one : {Case{"collect", true, false, false}, Case{"push", false, true, false},
                          Case{"admin", false, false, true}, Case{"learner", true, true, false}}) {
    SCOPED_TRACE(one.name);
    const auto channel = As(one.name);
    const auto expect = [&](const grpc::Status& status, bool allowed, const char* role,
                            StatusCode otherwise = StatusCode::OK) {
      if (allowed) {
        EXPECT_EQ(status.error_code(), otherwise) << status.error_message();
      } else {
        EXPECT_EQ(status.error_code(), StatusCode::PERMISSION_DENIED);
        EXPECT_THAT(status.error_message(), HasSubstr(base::StrCat("needs role \"", role, "\"")));
      }
    };
    expect(GetInfo(channel), one.collect, "collect");
    const auto stub = v1::Actor::NewStub(channel);
    {
      grpc::ClientContext context;
      server::SetDeadline(context);
      v1::GetBalanceResponse balance;
      expect(stub->GetBalance(&context, {}, &balance), one.collect, "collect");
    }
    {
      grpc::ClientContext context;
      server::SetDeadline(context);
      const auto reader = stub->GetDataset(&context, {});
      v1::GetDatasetResponse response;
      while (reader->Read(&response)) {
      }
      expect(reader->Finish(), one.collect, "collect");
    }
    {
      CollectClient client(channel);
      client.HalfClose();  // before `open`: refused as such where the role is there
      expect(client.Finish(), one.collect, "collect", StatusCode::INVALID_ARGUMENT);
    }
    {
      v1::PushWeightsResponse response;
      expect(server::PushRequests(channel, {v1::PushWeightsRequest()}, &response), one.push, "push",
             StatusCode::INVALID_ARGUMENT);
    }
    const auto admin = v1::Admin::NewStub(channel);
    {
      grpc::ClientContext context;
      server::SetDeadline(context);
      v1::SetLogLevelRequest request;
      request.set_level("debug");
      v1::SetLogLevelResponse response;
      expect(admin->SetLogLevel(&context, request, &response), one.admin, "admin");
      if (one.admin) {
        EXPECT_EQ(response.previous(), "info");
      }
    }
    if (!one.admin) {
      grpc::ClientContext context;
      server::SetDeadline(context);
      v1::DrainResponse response;
      expect(admin->Drain(&context, {}, &response), false, "admin");
    }
  }
  grpc::ClientContext context;
  server::SetDeadline(context);
  v1::DrainResponse response;
  EXPECT_TRUE(v1::Admin::NewStub(As("admin"))->Drain(&context, {}, &response).ok());
  ASSERT_TRUE(actor->WaitForExit());
  EXPECT_EQ(actor->exit_code(), 0) << actor->Errors();
}

TEST_F(TlsTest, StrangersAreNotServed) {
  Start();
  ASSERT_TRUE(GetInfo(As("collect")).ok());
  EXPECT_EQ(GetInfo(As("")).error_code(), StatusCode::UNAVAILABLE) << "no certificate";

  const std::string others = folder.File("others");
  MakeCertificates(others);
  v1::TlsSettings tls = Tls(others, "collect");
  tls.set_tls_ca(certificates + "/ca.pem");
  EXPECT_EQ(GetInfo(Connect(tls)).error_code(), StatusCode::UNAVAILABLE)
      << "a client of another authority";
  tls = Tls(certificates, "collect");
  tls.set_tls_ca(others + "/ca.pem");
  EXPECT_EQ(GetInfo(Connect(tls)).error_code(), StatusCode::UNAVAILABLE)
      << "an actor of another authority";
  EXPECT_EQ(GetInfo(Connect({})).error_code(), StatusCode::UNAVAILABLE) << "plain text";

  MakeCertificates(certificates, "--days -1 --only push");
  const auto expired = transport::MakeChannel("127.0.0.1:1", Tls(certificates, "push"));
  EXPECT_EQ(expired.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(expired.status().message(), HasSubstr("push.pem: the certificate has expired"));
  // A client that does not look at its own certificate.
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = *base::ReadFile(certificates + "/ca.pem");
  options.pem_cert_chain = *base::ReadFile(certificates + "/push.pem");
  options.pem_private_key = *base::ReadFile(certificates + "/push.key");
  EXPECT_EQ(GetInfo(grpc::CreateChannel(base::StrCat("127.0.0.1:", ports[0]),
                                        grpc::SslCredentials(options)))
                .error_code(),
            StatusCode::UNAVAILABLE);
}

TEST_F(TlsTest, CertificatesAreReplacedUnderLoadAndTornOnesAreNot) {
  Start();
  const auto learner = As("learner");
  server::PushAllKinds(learner, server::InfoOf(learner), 1, 0.01f);
  CollectClient client(learner, 300);
  ASSERT_TRUE(client.Open(CollectClient::OpenOf("p", "g", "c")));
  const auto take = [&] {
    ASSERT_TRUE(client.Credit(1));
    const auto batch = client.Next();
    ASSERT_TRUE(batch.has_value());
    ASSERT_TRUE(client.Acknowledge(batch->header.sequence()));
  };
  EXPECT_EQ(Metric("vixen_tls_reloads_total"), 0);
  const double first_end = Metric("vixen_tls_certificate_not_after_timestamp_seconds");
  EXPECT_GT(first_end, 1.7e9);

  for (int rotation = 1; rotation <= 3; ++rotation) {
    MakeCertificates(certificates, base::StrCat("--days ", 30 + rotation, " --only actor"));
    while (Metric("vixen_tls_reloads_total") < rotation) {
      take();
      ASSERT_TRUE(GetInfo(As("collect")).ok()) << "a new connection during rotation " << rotation;
    }
  }
  EXPECT_GT(Metric("vixen_tls_certificate_not_after_timestamp_seconds"), first_end + 2 * 86'400);
  const double failures = Metric("vixen_tls_reload_failures_total");

  // Half of a rotation: the key is new, the certificate is not yet.
  const std::string next = folder.File("next");
  std::filesystem::create_directory(next);
  std::filesystem::copy(certificates, next);
  MakeCertificates(next, "--days 90 --only actor");
  const auto move = [&](const char* name) {
    std::filesystem::rename(next + name, certificates + name);
  };
  move("/actor.key");
  EXPECT_TRUE(EventuallyMetric("vixen_tls_reload_failures_total", failures + 1));
  take();
  EXPECT_TRUE(GetInfo(As("collect")).ok()) << "the last good pair";
  move("/actor.pem");
  EXPECT_TRUE(EventuallyMetric("vixen_tls_reloads_total", 4));
  EXPECT_TRUE(GetInfo(As("collect")).ok());

  // Cut in the middle, and out of date.
  const std::string good = *base::ReadFile(certificates + "/actor.pem");
  ASSERT_TRUE(
      base::WriteFileAtomically(certificates + "/actor.pem", good.substr(0, good.size() / 2)).ok());
  EXPECT_TRUE(EventuallyMetric("vixen_tls_reload_failures_total", failures + 2));
  EXPECT_TRUE(GetInfo(As("collect")).ok());
  ASSERT_TRUE(base::WriteFileAtomically(certificates + "/actor.pem", good).ok());
  MakeCertificates(next, "--days -1 --only actor");
  move("/actor.key");
  move("/actor.pem");
  EXPECT_THAT(
      [&] {
        const auto deadline = std::chrono::steady_clock::now() + kPatience;
        while (std::chrono::steady_clock::now() < deadline) {
          if (actor->Errors().find("has expired") != std::string::npos) break;
        }
        return actor->Errors();
      }(),
      HasSubstr("actor.pem: the certificate has expired; the certificate in use stays"));
  EXPECT_TRUE(GetInfo(As("collect")).ok());
  EXPECT_EQ(Metric("vixen_tls_reloads_total"), 4);
  take();
  client.HalfClose();
  EXPECT_TRUE(client.Finish().ok()) << "the stream outlived every rotation";
}

TEST_F(TlsTest, HealthIsPlainTextOnAPortOfItsOwnAndNothingElseIs) {
  Start();
  const auto channel =
      grpc::CreateChannel(base::StrCat("127.0.0.1:", ports[2]), grpc::InsecureChannelCredentials());
  const auto call = [&](const char* method, grpc::ByteBuffer& response) {
    grpc::ClientContext context;
    server::SetDeadline(context);
    grpc::Slice nothing("");
    const grpc::ByteBuffer request(&nothing, 1);
    return grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
        channel.get(), grpc::internal::RpcMethod(method, grpc::internal::RpcMethod::NORMAL_RPC),
        &context, request, &response);
  };
  grpc::ByteBuffer response;
  const grpc::Status status = call("/grpc.health.v1.Health/Check", response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  grpc::Slice bytes;
  ASSERT_TRUE(response.DumpToSingleSlice(&bytes).ok());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.begin()), bytes.size()), "\x08\x01")
      << "HealthCheckResponse.status = SERVING";
  for (const char* method : {"/vixen.v1.Actor/GetInfo", "/vixen.v1.Admin/Drain"}) {
    EXPECT_EQ(call(method, response).error_code(), StatusCode::UNIMPLEMENTED) << method;
  }
}

TEST_F(TlsTest, WhatWouldLetAnyoneInIsRefusedAtStart) {
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--dataset", dataset, "--metrics_listen", ""});
    return vixen::testing::RunProgram(folder.path(), "vixen-actor", arguments);
  };
  const auto open = run({"--listen", "0.0.0.0:0"});
  EXPECT_EQ(open.exit_code, 2);
  EXPECT_THAT(open.errors, HasSubstr("insecure"));
  const auto no_authority =
      run({"--listen", "127.0.0.1:0", "--tls_certificate", certificates + "/actor.pem", "--tls_key",
           certificates + "/actor.key"});
  EXPECT_EQ(no_authority.exit_code, 2);
  EXPECT_THAT(no_authority.errors, HasSubstr("tls_ca"));
  const auto mixed =
      run({"--listen", "127.0.0.1:0", "--tls_certificate", certificates + "/actor.pem", "--tls_key",
           certificates + "/push.key", "--tls_ca", certificates + "/ca.pem"});
  EXPECT_EQ(mixed.exit_code, 1);
  EXPECT_THAT(mixed.errors, HasSubstr("push.key: the key is not that of"));
}

}  // namespace
}  // namespace vixen
