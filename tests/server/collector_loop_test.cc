// SPDX-License-Identifier: Apache-2.0
#include "server/collector/collector_loop.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>

#include "server/weights/weights_intake.h"
#include "tests/server/fake_collector.h"
#include "tests/server/test_weights.h"

namespace vixen::server {
namespace {

using kernels::WeightsKind;

Run SmallRun(FakeControl& control) {
  Run run;
  run.run_id = 5;
  run.collector.architecture = {4, 16, 16, 16, 16, 16};
  run.collector.episodes = 2;
  run.collector.steps = 3;
  run.make_collector = MakeFakes(control);
  run.max_failed_launches = 3;
  return run;
}

class CollectorLoopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    policy = *policies.FindOrAdd("p");
    const auto opened =
        policy->delivery.Open({.group = "g", .consumer = "c", .wake = [this] { Signal(); }});
    ASSERT_TRUE(opened.ok());
    stream = opened->id;
    loop.Start();
  }
  void TearDown() override {
    control.OpenGate();
    loop.Stop();
  }
  void Push(WeightsKind kind, uint64_t version) {
    const TestWeights weights =
        MakeTestWeights(ConstantParameters(run.collector.architecture, kind, 0.5f), version, "");
    const auto answer =
        intake.Apply(weights.header, std::make_shared<const std::string>(weights.image));
    ASSERT_TRUE(answer.ok()) << answer.status();
    loop.Notify();
  }
  void PushAll(uint64_t version) {
    for (const auto kind : {WeightsKind::kOnline, WeightsKind::kTarget, WeightsKind::kCuriosity}) {
      Push(kind, version);
    }
  }
  void Signal() {
    std::lock_guard lock(mutex);
    ++signals;
    changed.notify_all();
  }
  // The next batch for the stream; fails after a minute.
  std::optional<Outgoing> Next() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::unique_lock lock(mutex);
    while (std::chrono::steady_clock::now() < deadline) {
      const int seen = signals;
      lock.unlock();
      if (auto outgoing = policy->delivery.Take(stream)) return outgoing;
      lock.lock();
      changed.wait_until(lock, deadline, [&] { return signals != seen; });
    }
    return std::nullopt;
  }

  FakeControl control;
  server::Run run = SmallRun(control);
  ActorMetrics metrics;
  Policies policies{run, metrics, [this] { loop.Notify(); }};
  WeightsIntake intake{run, policies, metrics};
  std::mutex mutex;
  std::condition_variable changed;
  int signals = 0;
  absl::Status fatal;
  CollectorLoop loop{run, policies, metrics, [this](absl::Status status) {
                       std::lock_guard lock(mutex);
                       fatal = std::move(status);
                       ++signals;
                       changed.notify_all();
                     }};
  std::shared_ptr<Policy> policy;
  StreamId stream = 0;
};

TEST_F(CollectorLoopTest, LaunchesOnlyWithCreditAndAllWeights) {
  ASSERT_TRUE(policy->delivery.AddCredit(stream, 2).ok());
  Push(WeightsKind::kOnline, 1);
  Push(WeightsKind::kTarget, 2);
  EXPECT_EQ(policy->WaitingFor(), "weights: curiosity");
  Push(WeightsKind::kCuriosity, 3);
  const auto first = Next();
  const auto second = Next();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->batch->header.launch(), 0u);
  EXPECT_EQ(second->batch->header.sequence(), 1u);
  EXPECT_EQ(policy->WaitingFor(), "credit");
  EXPECT_EQ(control.launches, 2);
}

TEST_F(CollectorLoopTest, LabelsABatchWithWhatTheLaunchRead) {
  PushAll(1);
  control.CloseGate();
  ASSERT_TRUE(policy->delivery.AddCredit(stream, 2).ok());
  control.WaitUntilInside();
  PushAll(2);
  EXPECT_EQ(policy->weights.LiveVersion(WeightsKind::kOnline), 2u);
  control.OpenGate();
  const auto before = Next();
  const auto after = Next();
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->batch->header.online_version(), 1u);
  EXPECT_EQ(before->batch->header.curiosity_version(), 1u);
  EXPECT_EQ(after->batch->header.online_version(), 2u);
  EXPECT_EQ(after->batch->header.target_version(), 2u);
  EXPECT_EQ(after->batch->header.run_seed(), policy->run_seed);
}

TEST_F(CollectorLoopTest, AFailedLaunchUsesANumberButNoSequence) {
  control.fail_launches = 1;
  PushAll(1);
  ASSERT_TRUE(policy->delivery.AddCredit(stream, 1).ok());
  const auto batch = Next();
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->batch->header.launch(), 1u);
  EXPECT_EQ(batch->batch->header.sequence(), 0u);
}

TEST_F(CollectorLoopTest, GivesUpAfterTooManyFailuresInARow) {
  control.fail_launches = 1000;
  PushAll(1);
  ASSERT_TRUE(policy->delivery.AddCredit(stream, 1).ok());
  std::unique_lock lock(mutex);
  ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return !fatal.ok(); }));
  EXPECT_EQ(fatal.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(control.launches, 3);
}

TEST_F(CollectorLoopTest, GivesUpAtOnceWhenTheDeviceIsLost) {
  control.lose_device = true;
  PushAll(1);
  ASSERT_TRUE(policy->delivery.AddCredit(stream, 2).ok());
  std::unique_lock lock(mutex);
  ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return !fatal.ok(); }));
  EXPECT_EQ(fatal.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(control.launches, 1);
  EXPECT_EQ(policy->delivery.next_sequence(), 0u);
  EXPECT_EQ(policy->metrics.failed_launches->Value(), 1);
}

TEST_F(CollectorLoopTest, StoppingFinishesTheLaunchUnderWay) {
  PushAll(1);
  control.CloseGate();
  ASSERT_TRUE(policy->delivery.AddCredit(stream, 5).ok());
  control.WaitUntilInside();
  std::thread stopper([&] { loop.Stop(); });
  control.OpenGate();
  stopper.join();
  EXPECT_TRUE(policy->delivery.Take(stream).has_value());
  EXPECT_EQ(static_cast<uint64_t>(control.launches), policy->delivery.next_sequence());
}

}  // namespace
}  // namespace vixen::server
