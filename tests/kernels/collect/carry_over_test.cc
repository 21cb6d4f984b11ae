// SPDX-License-Identifier: Apache-2.0
// Launches that go on where the one before ended.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "kernels/env/rules.h"
#include "tests/kernels/test_policy.h"

namespace vixen::kernels {
namespace {

TEST(CarryOver, TwoLaunchesAreOneOfTwiceTheLength) {
  const bench::RandomMarket market(1000, 5, 1);
  CollectorOptions options = SmallOptions(market);
  options.settings.carry_over = true;
  options.settings.double_dqn = true;
  const auto half = ReadyCollector(options);
  options.steps *= 2;
  const auto whole = ReadyCollector(options);
  Batch long_batch(options.episodes, options.steps, true);
  ASSERT_TRUE(whole->Launch(Request(0), long_batch).ok());
  const BatchView expected = long_batch.view();
  LaunchStatistics sum;
  for (uint64_t k = 0; k < 2; ++k) {
    Batch batch(options.episodes, options.steps / 2, true);
    ASSERT_TRUE(half->Launch(Request(k), batch).ok());
    const BatchView view = batch.view();
    for (size_t n = 0; n < options.episodes; ++n) {
      for (size_t l = 0; l < batch.steps(); ++l) {
        const size_t a = n * batch.steps() + l;
        const size_t b = n * options.steps + k * batch.steps() + l;
        ASSERT_EQ(view.bar[a], expected.bar[b]);
        ASSERT_EQ(view.action[a], expected.action[b]);
        ASSERT_EQ(view.flags[a], expected.flags[b]);
        ASSERT_EQ(view.episode[a], expected.episode[b]);
        ASSERT_EQ(view.reward[a], expected.reward[b]);
        ASSERT_EQ(view.td[a], expected.td[b]);
      }
    }
    sum.Add(batch.statistics);
  }
  const std::vector<SlotState> a = half->SlotStates();
  const std::vector<SlotState> b = whole->SlotStates();
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(SlotState)), 0);
  EXPECT_EQ(sum.episode_length_sum, long_batch.statistics.episode_length_sum);
  EXPECT_NEAR(sum.episode_reward_sum, long_batch.statistics.episode_reward_sum, 1e-9);
}

TEST(CarryOver, AnyLaunchGoesOnFromItsRecordedStates) {
  const bench::RandomMarket market(1000, 5, 1);
  CollectorOptions options = SmallOptions(market);
  options.settings.carry_over = true;
  const auto collector = ReadyCollector(options);
  Batch batch(options.episodes, options.steps, false);
  ASSERT_TRUE(collector->Launch(Request(0), batch).ok());
  ASSERT_TRUE(collector->Launch(Request(1), batch).ok());
  ASSERT_EQ(batch.start_states.size(), options.episodes);
  const auto other = ReadyCollector(options);
  Batch again(options.episodes, options.steps, false);
  LaunchRequest request = Request(1);
  EXPECT_EQ(other->Launch(request, again).code(), absl::StatusCode::kFailedPrecondition);
  request.slot_states = batch.start_states;
  ASSERT_TRUE(other->Launch(request, again).ok());
  EXPECT_TRUE(PayloadOf(again) == PayloadOf(batch));
}

TEST(CarryOver, RefusesStatesThatTheRulesCannotGoOnFrom) {
  const bench::RandomMarket market(1000, 5, 1);
  CollectorOptions options = SmallOptions(market);
  options.settings.carry_over = true;
  const auto collector = ReadyCollector(options);
  Batch batch(options.episodes, options.steps, false);
  ASSERT_TRUE(collector->Launch(Request(0), batch).ok());
  const std::vector<SlotState> sound = collector->SlotStates();
  const struct {
    const char* name;
    std::function<void(SlotState&)> spoil;
  } faults[] = {{"bar", [](SlotState& s) { s.bar = 999; }},
                {"bar", [](SlotState& s) { s.bar = 4'000'000'000u; }},
                {"cash", [](SlotState& s) { s.cash = std::nanf(""); }},
                {"entry", [](SlotState& s) { s.position = 5, s.entry = 0; }},
                {"equity", [](SlotState& s) { s.position = 0, s.cash = -1; }},
                {"active", [](SlotState& s) { s.active = 0; }},
                {"barrier_armed", [](SlotState& s) { s.barrier_armed = 2; }},
                {"category_window", [](SlotState& s) { s.step = 200; }},
                {"category_window", [](SlotState& s) { s.step = 1, s.category_window[0] = 9; }}};
  for (const auto& fault : faults) {
    std::vector<SlotState> states = sound;
    fault.spoil(states[3]);
    LaunchRequest request = Request(1);
    request.slot_states = states;
    const absl::Status status = collector->Launch(request, batch);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << fault.name;
    EXPECT_NE(status.ToString().find("slot_states[3]"), std::string::npos) << status;
    EXPECT_NE(status.ToString().find(fault.name), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace vixen::kernels
