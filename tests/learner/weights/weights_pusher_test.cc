// SPDX-License-Identifier: Apache-2.0
#include "learner/weights/weights_pusher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "learner/client/channel.h"
#include "learner/trainer/initial_weights.h"
#include "learner/weights/probe.h"
#include "tests/learner/client/scripted_actor.h"

namespace vixen::learner {
namespace {

using kernels::WeightsKind;

class WeightsPusherTest : public testing::Test {
 protected:
  WeightsPusherTest() {
    architecture_ = {
        .features = 5, .hidden1 = 16, .hidden2 = 16, .value_hidden = 16, .advantage_hidden = 16};
    actor_.on_push = [this](const v1::WeightsHeader& header, const std::string& image,
                            v1::PushWeightsResponse& response) {
      return Accept(header, image, response);
    };
  }
  ~WeightsPusherTest() override {
    events_.Close();
    if (pusher_ != nullptr) pusher_->Stop();
  }

  void StartPusher() {
    pusher_ = std::make_unique<WeightsPusher>(
        PusherOptions{
            .actor = 0, .address = actor_.address(), .policy = "p", .scaler_fingerprint = "s"},
        *MakeChannel(actor_.address(), v1::TlsSettings()), events_);
    pusher_->Start();
  }

  std::shared_ptr<const WeightsPart> Part(WeightsKind kind, uint64_t version) {
    auto part = std::make_shared<WeightsPart>();
    part->parameters = InitialWeights(architecture_, kind, version);
    part->version = version;
    part->epsilon = 0.25f;
    return part;
  }

  // As a right actor answers.
  grpc::Status Accept(const v1::WeightsHeader& header, const std::string& image,
                      v1::PushWeightsResponse& response) {
    const auto file = base::TensorFile::Parse(std::as_bytes(std::span(image)), "image");
    EXPECT_TRUE(file.ok()) << file.status();
    const auto kind = *codec::FromProto(header.kind());
    const auto parameters =
        kernels::ReadParameters(*file, "", codec::FromProto(header.architecture()), kind);
    EXPECT_TRUE(parameters.ok()) << parameters.status();
    const base::Sha256Digest sha256 = kernels::ParametersSha256(*parameters);
    response.set_sha256(std::string(sha256.begin(), sha256.end()));
    for (double x : ProbeOutputs(*parameters)) response.add_probe(static_cast<float>(x));
    response.set_precision(v1::PRECISION_FP32);
    std::lock_guard lock(mutex_);
    headers_.push_back(header);
    return grpc::Status::OK;
  }

  kernels::Architecture architecture_;
  ScriptedActor actor_;
  EventQueue events_{16};
  std::unique_ptr<WeightsPusher> pusher_;
  std::mutex mutex_;
  std::vector<v1::WeightsHeader> headers_;
};

TEST_F(WeightsPusherTest, SendsTheLatestOfEachKindAndReportsThemLive) {
  auto pusher = std::make_unique<WeightsPusher>(
      PusherOptions{
          .actor = 0, .address = actor_.address(), .policy = "p", .scaler_fingerprint = "s"},
      *MakeChannel(actor_.address(), v1::TlsSettings()), events_);
  for (uint64_t version = 1; version <= 100; ++version) {
    pusher->Submit(Part(WeightsKind::kOnline, version));
  }
  pusher->Submit(Part(WeightsKind::kTarget, (uint64_t{1} << 53) + 1));
  pusher->Submit(Part(WeightsKind::kCuriosity, 4));
  pusher->Start();
  const std::optional<WeightsLive> live = NextEvent<WeightsLive>(events_);
  ASSERT_TRUE(live.has_value());
  EXPECT_EQ(live->online_version, 100u);
  pusher->Stop();
  ASSERT_EQ(headers_.size(), 3u);
  EXPECT_EQ(headers_[0].version(), 100u);
  EXPECT_EQ(headers_[0].epsilon(), 0.25f);
  EXPECT_EQ(headers_[0].scaler_fingerprint(), "s");
  EXPECT_EQ(headers_[1].version(), (uint64_t{1} << 53) + 1);
  EXPECT_FALSE(headers_[1].has_epsilon());
  EXPECT_EQ(headers_[2].kind(), v1::WEIGHTS_KIND_CURIOSITY);
}

TEST_F(WeightsPusherTest, TriesAgainWhileTheActorIsAway) {
  int calls = 0;
  actor_.on_push = [&](const v1::WeightsHeader& header, const std::string& image,
                       v1::PushWeightsResponse& response) {
    if (++calls < 3) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "starting");
    return Accept(header, image, response);
  };
  StartPusher();
  pusher_->Submit(Part(WeightsKind::kOnline, 1));
  EXPECT_TRUE(NextEvent<WeightsLive>(events_).has_value());
  EXPECT_EQ(calls, 3);
}

TEST_F(WeightsPusherTest, AsksForTheLiveVersionsWhenItsOwnIsOlder) {
  actor_.on_push = [](const v1::WeightsHeader&, const std::string&, v1::PushWeightsResponse&) {
    return grpc::Status(grpc::StatusCode::ABORTED, "version 1 is older than 9");
  };
  v1::PolicyInfo& policy = *actor_.info.add_policies();
  policy.set_policy("p");
  policy.set_online_version(9);
  StartPusher();
  pusher_->Submit(Part(WeightsKind::kOnline, 1));
  const std::optional<WeightsBehind> behind = NextEvent<WeightsBehind>(events_);
  ASSERT_TRUE(behind.has_value());
  EXPECT_EQ(behind->live.online_version(), 9u);
}

TEST_F(WeightsPusherTest, FailsWhenTheActorReadBackOtherParameters) {
  actor_.on_push = [&](const v1::WeightsHeader& header, const std::string& image,
                       v1::PushWeightsResponse& response) {
    const grpc::Status status = Accept(header, image, response);
    response.set_sha256(std::string(32, 'x'));
    return status;
  };
  StartPusher();
  pusher_->Submit(Part(WeightsKind::kOnline, 1));
  const std::optional<ClientFailed> failed = NextEvent<ClientFailed>(events_);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(failed->status.message(), testing::HasSubstr("online weights version 1"));
}

TEST_F(WeightsPusherTest, FailsWhenTheProbeDiffers) {
  actor_.on_push = [&](const v1::WeightsHeader& header, const std::string& image,
                       v1::PushWeightsResponse& response) {
    const grpc::Status status = Accept(header, image, response);
    response.set_probe(7, response.probe(7) + 0.01f);
    return status;
  };
  StartPusher();
  pusher_->Submit(Part(WeightsKind::kTarget, 1));
  const std::optional<ClientFailed> failed = NextEvent<ClientFailed>(events_);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(failed->status.message(), testing::HasSubstr("probe value 7"));
}

TEST_F(WeightsPusherTest, FailsOnARefusal) {
  actor_.on_push = [](const v1::WeightsHeader&, const std::string&, v1::PushWeightsResponse&) {
    return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "architecture a, here b");
  };
  StartPusher();
  pusher_->Submit(Part(WeightsKind::kOnline, 1));
  const std::optional<ClientFailed> failed = NextEvent<ClientFailed>(events_);
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->status.code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace vixen::learner
