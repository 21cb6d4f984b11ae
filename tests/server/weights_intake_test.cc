// SPDX-License-Identifier: Apache-2.0
#include "server/weights/weights_intake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "tests/server/fake_collector.h"
#include "tests/server/test_weights.h"

namespace vixen::server {
namespace {

using kernels::WeightsKind;
using ::testing::HasSubstr;

Run SmallRun(FakeControl& control) {
  Run run;
  run.run_id = 5;
  run.collector.architecture = {.features = 4,
                                .hidden1 = 16,
                                .hidden2 = 16,
                                .value_hidden = 16,
                                .advantage_hidden = 16,
                                .curiosity_hidden = 16};
  run.collector.episodes = 2;
  run.collector.steps = 3;
  run.make_collector = MakeFakes(control);
  run.scaler_fingerprint.fill(7);
  run.limits.set_max_policies(2);
  run.limits.set_max_weights_bytes(1 << 16);
  return run;
}

class WeightsIntakeTest : public ::testing::Test {
 protected:
  TestWeights Make(WeightsKind kind, uint64_t version, float value,
                   const std::string& policy = "p") {
    return MakeTestWeights(ConstantParameters(run.collector.architecture, kind, value), version,
                           std::string(32, 7), policy);
  }
  absl::StatusOr<v1::PushWeightsResponse> Push(const TestWeights& weights) {
    WeightsUpload upload(intake);
    for (const v1::PushWeightsRequest& request : RequestsOf(weights, 1000)) {
      if (absl::Status status = upload.Add(request); !status.ok()) return status;
    }
    return upload.Apply();
  }
  void ExpectRefused(const TestWeights& weights, absl::StatusCode code, const std::string& word) {
    const auto before = policies.Find("p");
    const uint64_t version = before ? before->weights.LiveVersion(WeightsKind::kOnline) : 0;
    const absl::Status status = Push(weights).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(word));
    const auto after = policies.Find("p");
    EXPECT_EQ(after ? after->weights.LiveVersion(WeightsKind::kOnline) : 0, version);
  }
  // The image with one float of a tensor replaced.
  static void Poke(TestWeights& weights, float value) {
    std::memcpy(weights.image.data() + weights.image.size() - 8, &value, sizeof(value));
  }

  FakeControl control;
  server::Run run = SmallRun(control);
  ActorMetrics metrics;
  Policies policies{run, metrics, nullptr};
  WeightsIntake intake{run, policies, metrics};
};

TEST_F(WeightsIntakeTest, TakesWeightsAndAnswersWithTheProbe) {
  TestWeights weights = Make(WeightsKind::kOnline, 3, 0.5f);
  weights.header.set_epsilon(0.25f);
  const auto answer = Push(weights);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->live_version(), 3u);
  EXPECT_EQ(answer->sha256(), weights.header.sha256());
  EXPECT_EQ(answer->probe(0), 0.5f);
  EXPECT_EQ(answer->precision(), v1::PRECISION_FP32);
  EXPECT_FALSE(answer->already_live());
  EXPECT_EQ(answer->epsilon(), 0.25f);
  const auto policy = policies.Find("p");
  EXPECT_EQ(*policy->weights.Live(WeightsKind::kOnline)->image, weights.image);
  EXPECT_EQ(policy->weights.Missing(), "target, curiosity");
}

TEST_F(WeightsIntakeTest, TheSameVersionAndDigestAgainChangesNothing) {
  ASSERT_TRUE(Push(Make(WeightsKind::kOnline, 3, 0.5f)).ok());
  const auto again = Push(Make(WeightsKind::kOnline, 3, 0.5f));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->already_live());
  EXPECT_EQ(again->probe(0), 0.5f);
}

TEST_F(WeightsIntakeTest, AnOlderVersionOrAnotherDigestIsAborted) {
  ASSERT_TRUE(Push(Make(WeightsKind::kOnline, 3, 0.5f)).ok());
  ExpectRefused(Make(WeightsKind::kOnline, 2, 0.5f), absl::StatusCode::kAborted,
                "older than the live version 3");
  ExpectRefused(Make(WeightsKind::kOnline, 3, 0.75f), absl::StatusCode::kAborted, "SHA-256");
  EXPECT_TRUE(Push(Make(WeightsKind::kTarget, 1, 0.5f)).ok()) << "versions count by kind";
}

TEST_F(WeightsIntakeTest, RefusesHeadersThatDoNotFit) {
  const auto with = [&](auto change) {
    TestWeights weights = Make(WeightsKind::kOnline, 3, 0.5f);
    change(weights.header);
    return weights;
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
  ExpectRefused(with([](auto& h) { h.set_policy("no spaces"); }), kInvalid, "no spaces");
  ExpectRefused(with([](auto& h) { h.set_policy(std::string(65, 'a')); }), kInvalid, "name");
  ExpectRefused(with([](auto& h) { h.set_version(0); }), kInvalid, "version is 0");
  ExpectRefused(with([](auto& h) { h.set_epsilon(1.5f); }), kInvalid, "1.5");
  ExpectRefused(with([](auto& h) { h.set_epsilon(NAN); }), kInvalid, "epsilon");
  ExpectRefused(with([](auto& h) { h.set_sha256("short"); }), kInvalid, "sha256");
  ExpectRefused(with([](auto& h) { h.set_size(0); }), kInvalid, "size");
  ExpectRefused(with([](auto& h) { h.clear_kind(); }), kInvalid, "kind");
  ExpectRefused(with([](auto& h) { h.set_size(1 << 17); }), absl::StatusCode::kResourceExhausted,
                "max_weights_bytes is 65536");
  ExpectRefused(with([](auto& h) { h.mutable_architecture()->set_hidden1(32); }), kPrecondition,
                "this actor runs");
  ExpectRefused(with([](auto& h) { h.set_scaler_fingerprint(std::string(32, 1)); }), kPrecondition,
                "0101010101");
}

TEST_F(WeightsIntakeTest, RefusesImagesThatAreNotTheseWeights) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  TestWeights weights = Make(WeightsKind::kOnline, 3, 0.5f);
  Poke(weights, NAN);
  ExpectRefused(weights, kInvalid, "nan");
  weights = Make(WeightsKind::kOnline, 3, 0.5f);
  Poke(weights, 0.75f);
  ExpectRefused(weights, kInvalid, "SHA-256");
  weights = Make(WeightsKind::kOnline, 3, 0.5f);
  weights.image.assign(weights.image.size(), 'x');
  ExpectRefused(weights, kInvalid, "online version 3");
  weights = Make(WeightsKind::kCuriosity, 3, 0.5f);
  weights.header.set_kind(v1::WEIGHTS_KIND_ONLINE);
  ExpectRefused(weights, kInvalid, "0.weight");
  EXPECT_EQ(policies.All().size(), 0u);
}

TEST_F(WeightsIntakeTest, RefusesStreamsOutOfOrder) {
  const std::vector<v1::PushWeightsRequest> requests =
      RequestsOf(Make(WeightsKind::kOnline, 3, 0.5f), 1000);
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  {
    WeightsUpload upload(intake);
    EXPECT_EQ(upload.Add(requests[1]).code(), kInvalid);
    EXPECT_EQ(upload.CheckComplete().code(), kInvalid);
  }
  WeightsUpload upload(intake);
  ASSERT_TRUE(upload.Add(requests[0]).ok());
  EXPECT_EQ(upload.Add(requests[0]).code(), kInvalid);
  EXPECT_EQ(upload.Add(v1::PushWeightsRequest()).code(), kInvalid);
  ASSERT_TRUE(upload.Add(requests[1]).ok());
  EXPECT_EQ(upload.Apply().status().code(), kInvalid) << "less than announced";
  v1::PushWeightsRequest too_much;
  too_much.set_chunk(std::string(60'000, 'x'));
  EXPECT_EQ(upload.Add(too_much).code(), kInvalid);
}

TEST_F(WeightsIntakeTest, AHeaderAloneChangesEpsilon) {
  TestWeights alone;
  alone.header.set_policy("p");
  alone.header.set_epsilon(0.125f);
  ExpectRefused(alone, absl::StatusCode::kFailedPrecondition, "no weights yet");
  ASSERT_TRUE(Push(Make(WeightsKind::kOnline, 3, 0.5f)).ok());
  const auto answer = Push(alone);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->epsilon(), 0.125f);
  EXPECT_EQ(policies.Find("p")->weights.Swap().epsilon, 0.125f);
  alone.header.clear_epsilon();
  ExpectRefused(alone, absl::StatusCode::kInvalidArgument, "neither weights nor epsilon");
}

TEST_F(WeightsIntakeTest, OnePolicyTooManyIsRefused) {
  ASSERT_TRUE(Push(Make(WeightsKind::kOnline, 1, 0.5f, "a")).ok());
  ASSERT_TRUE(Push(Make(WeightsKind::kOnline, 1, 0.5f, "b")).ok());
  EXPECT_EQ(Push(Make(WeightsKind::kOnline, 1, 0.5f, "c")).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Push(Make(WeightsKind::kTarget, 1, 0.5f, "b")).ok());
}

TEST_F(WeightsIntakeTest, AFailedStagingKeepsWhatWasStagedBefore) {
  ASSERT_TRUE(Push(Make(WeightsKind::kOnline, 1, 0.5f)).ok());
  control.fail_stagings = 1;
  EXPECT_EQ(Push(Make(WeightsKind::kOnline, 2, 0.75f)).status().code(),
            absl::StatusCode::kInternal);
  EXPECT_EQ(policies.Find("p")->weights.Swap().versions[0], 1u);
  EXPECT_EQ(control.commits, 1);
}

TEST_F(WeightsIntakeTest, LatestWinsAndSkippedVersionsAreCounted) {
  for (const uint64_t version : {1, 2, 5}) {
    ASSERT_TRUE(Push(Make(WeightsKind::kOnline, version, 0.5f)).ok());
  }
  PolicyWeights& weights = policies.Find("p")->weights;
  EXPECT_EQ(weights.skipped(), 2u);
  EXPECT_EQ(weights.Swap().versions[0], 5u);
  EXPECT_EQ(control.commits, 1);
  EXPECT_EQ(control.made, 1);
}

TEST_F(WeightsIntakeTest, UploadsTogetherHoldNoMoreThanTwiceTheCap) {
  ASSERT_TRUE(intake.TakeMemory(2 << 16).ok());
  EXPECT_EQ(intake.TakeMemory(1).code(), absl::StatusCode::kResourceExhausted);
  intake.GiveMemory(2 << 16);
  {
    WeightsUpload upload(intake);
    for (const auto& request : RequestsOf(Make(WeightsKind::kOnline, 3, 0.5f), 1000)) {
      ASSERT_TRUE(upload.Add(request).ok());
    }
    EXPECT_EQ(intake.TakeMemory(2 << 16).code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_TRUE(intake.TakeMemory(2 << 16).ok()) << "an upload gives its memory back";
}

TEST_F(WeightsIntakeTest, OfConcurrentPushersTheHighestVersionIsLive) {
  std::vector<std::thread> pushers;
  for (uint64_t pusher = 0; pusher < 4; ++pusher) {
    pushers.emplace_back([&, pusher] {
      for (uint64_t i = 1; i <= 10; ++i) {
        const auto answer = Push(Make(WeightsKind::kOnline, 4 * i + pusher, 0.5f));
        EXPECT_TRUE(answer.ok() || answer.status().code() == absl::StatusCode::kAborted)
            << answer.status();
      }
    });
  }
  for (std::thread& pusher : pushers) pusher.join();
  EXPECT_EQ(policies.Find("p")->weights.LiveVersion(WeightsKind::kOnline), 43u);
}

}  // namespace
}  // namespace vixen::server
