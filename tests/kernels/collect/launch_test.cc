// SPDX-License-Identifier: Apache-2.0
// What a launch promises: bytes that depend on nothing but what determines it, rows that add up.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "kernels/env/rng.h"
#include "kernels/env/rules.h"
#include "tests/kernels/test_policy.h"

namespace vixen::kernels {
namespace {

// Variants of the settings that between them touch every rule.
struct Variant {
  const char* name;
  std::function<void(CollectorOptions&)> set;
};
const std::vector<Variant>& Variants() {
  static const std::vector<Variant> variants = {
      {"defaults", [](CollectorOptions&) {}},
      {"relabel, idle",
       [](CollectorOptions& o) {
         o.settings.on_barrier = OnBarrier::kRelabel;
         o.settings.recycle = false;
         o.settings.max_episode_steps = 25;
       }},
      {"double dqn, subset",
       [](CollectorOptions& o) {
         o.settings.double_dqn = true;
         o.settings.barrier_shaping = BarrierShaping::kAligned;
         o.settings.action_count = 3;
         o.settings.actions[0] = 1;
         o.settings.actions[1] = 19;
         o.settings.actions[2] = 37;
       }},
      {"carry over, borrow, range",
       [](CollectorOptions& o) {
         o.settings.carry_over = true;
         o.settings.double_dqn = true;
         o.settings.borrow_bps = 1.0f;
         o.market.begin = 100;
         o.market.end = 400;
       }},
      {"no curiosity", [](CollectorOptions& o) { o.settings.curiosity_max = 0.0f; }},
  };
  return variants;
}

TEST(Launches, GiveTheSameBytesOnOneTwoAndSevenThreads) {
  const bench::RandomMarket market(1000, 5, 1);
  for (const Variant& variant : Variants()) {
    SCOPED_TRACE(variant.name);
    CollectorOptions options = SmallOptions(market);
    variant.set(options);
    std::vector<std::string> payloads;
    std::vector<LaunchStatistics> statistics;
    for (const int threads : {1, 2, 7}) {
      options.threads = threads;
      const auto collector = ReadyCollector(options);
      Batch batch(options.episodes, options.steps, true, true);
      for (uint64_t k = 0; k < 2; ++k) {
        ASSERT_TRUE(collector->Launch(Request(k), batch).ok());
        payloads.push_back(PayloadOf(batch));
        payloads.back().append(reinterpret_cast<const char*>(batch.q().data()),
                               batch.q().size_bytes());
      }
      statistics.push_back(batch.statistics);
    }
    for (size_t i = 2; i < payloads.size(); ++i) EXPECT_TRUE(payloads[i] == payloads[i % 2]);
    for (const LaunchStatistics& other : statistics) {
      EXPECT_EQ(std::memcmp(&other, &statistics[0], sizeof other), 0);
    }
  }
}

TEST(Launches, DependOnSeedAndNumberOnly) {
  const bench::RandomMarket market(1000, 5, 1);
  const CollectorOptions options = SmallOptions(market);
  const auto first = ReadyCollector(options);
  Batch batch(options.episodes, options.steps, true);
  std::vector<std::string> payloads;
  for (uint64_t k = 0; k < 3; ++k) {
    ASSERT_TRUE(first->Launch(Request(k), batch).ok());
    payloads.push_back(PayloadOf(batch));
  }
  EXPECT_NE(payloads[0], payloads[1]);
  const auto second = ReadyCollector(options);
  ASSERT_TRUE(second->Launch(Request(2), batch).ok());
  EXPECT_TRUE(PayloadOf(batch) == payloads[2]) << "launch 2 without 0 and 1 before it";
  LaunchRequest other = Request(2);
  other.seed = 8;
  ASSERT_TRUE(second->Launch(other, batch).ok());
  EXPECT_FALSE(PayloadOf(batch) == payloads[2]);
}

TEST(Launches, GiveTheSameColumnsWithAndWithoutTerms) {
  const bench::RandomMarket market(1000, 5, 1);
  const CollectorOptions options = SmallOptions(market);
  const auto collector = ReadyCollector(options);
  Batch with(options.episodes, options.steps, true);
  Batch without(options.episodes, options.steps, false);
  ASSERT_TRUE(collector->Launch(Request(0), with).ok());
  ASSERT_TRUE(collector->Launch(Request(0), without).ok());
  for (const ColumnSpec& column : kColumns) {
    if (column.id == ColumnId::kTerms) continue;
    const auto a = with.Column(column.id);
    const auto b = without.Column(column.id);
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << column.name;
  }
}

TEST(Launches, StartWhereTheSeedsSay) {
  const bench::RandomMarket market(1000, 5, 1);
  const CollectorOptions options = SmallOptions(market);
  const auto collector = ReadyCollector(options);
  Batch batch(options.episodes, options.steps, false);
  ASSERT_TRUE(collector->Launch(Request(5), batch).ok());
  for (uint32_t n = 0; n < options.episodes; ++n) {
    const SlotSeed seed = SeedOfSlot(7, 5, n);
    EXPECT_EQ(batch.view().bar[n * options.steps], StartBar(options.market, seed.start_draw));
  }
}

// Every row of a batch against the rules that bind rows to each other, and against the statistics.
void ExpectSoundRows(const CollectorOptions& options, Batch& batch) {
  const BatchView view = batch.view();
  LaunchStatistics counted;
  for (uint32_t n = 0; n < options.episodes; ++n) {
    for (uint32_t l = 0; l < options.steps; ++l) {
      const size_t row = size_t{n} * options.steps + l;
      const uint8_t flags = view.flags[row];
      const float* next = view.next_portfolio + 3 * row;
      if (flags == 0) {
        ASSERT_FALSE(options.settings.recycle);
        ASSERT_EQ(view.bar[row] | view.action[row] | view.episode[row], 0u);
        for (int i = 0; i < 3; ++i) ASSERT_EQ(view.portfolio[3 * row + i], 0.0f);
        for (int i = 0; i < 3; ++i) ASSERT_EQ(next[i], 0.0f);
        for (int i = 0; i < kRewardTerms; ++i) ASSERT_EQ(view.terms[5 * row + i], 0.0f);
        ASSERT_EQ(view.reward[row], 0.0f);
        ASSERT_EQ(view.td[row], 0.0f);
        continue;
      }
      ASSERT_TRUE(flags & kFlagValid);
      const bool terminated = (flags & kFlagTerminated) != 0;
      const bool truncated = (flags & kFlagTruncated) != 0;
      ASSERT_FALSE(terminated && truncated) << "exactly one cause per end";
      ASSERT_GE(view.bar[row], options.market.begin);
      ASSERT_LT(view.bar[row] + 1, options.market.end);
      const float* terms = view.terms + 5 * row;
      ASSERT_EQ(view.reward[row], terms[0] + terms[1] + terms[2] + terms[3] + terms[4]);
      ASSERT_GE(view.td[row], 0.0f);
      if (options.settings.on_barrier == OnBarrier::kTerminate &&
          BarrierOf(flags) != BarrierResult::kNone) {
        ASSERT_TRUE(terminated);
      }
      if (l + 1 == options.steps) {
        ASSERT_TRUE(terminated || truncated || options.settings.carry_over);
      } else if (!terminated && !truncated) {
        ASSERT_EQ(view.bar[row + 1], view.bar[row] + 1);
        ASSERT_EQ(view.episode[row + 1], view.episode[row]);
        for (int i = 0; i < 3; ++i) ASSERT_EQ(view.portfolio[3 * (row + 1) + i], next[i]);
      } else if (options.settings.recycle) {
        ASSERT_EQ(view.episode[row + 1], view.episode[row] + 1);
        ASSERT_EQ(view.portfolio[3 * (row + 1)], 1.0f);
        ASSERT_EQ(view.portfolio[3 * (row + 1) + 1], 0.0f);
      } else {
        ASSERT_EQ(view.flags[row + 1], 0);
      }
      counted.valid_rows += 1;
      counted.explored += (flags & kFlagExplored) != 0;
      counted.exposure_class[view.action[row] / 9] += 1;
      counted.barrier_result[static_cast<int>(BarrierOf(flags))] += 1;
      counted.terminated += terminated;
      counted.truncated += truncated;
      counted.td_sum += view.td[row];
      for (int i = 0; i < kRewardTerms; ++i) counted.term_sum[i] += terms[i];
    }
  }
  const LaunchStatistics& s = batch.statistics;
  EXPECT_EQ(s.valid_rows, counted.valid_rows);
  EXPECT_EQ(s.explored, counted.explored);
  for (int i = 0; i < kExposures; ++i) EXPECT_EQ(s.exposure_class[i], counted.exposure_class[i]);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(s.barrier_result[i], counted.barrier_result[i]);
  EXPECT_EQ(s.terminated, counted.terminated);
  EXPECT_EQ(s.truncated, counted.truncated);
  EXPECT_EQ(s.episodes_ended, counted.terminated + counted.truncated);
  EXPECT_NEAR(s.td_sum, counted.td_sum, 1e-9 * (1 + counted.td_sum));
  for (int i = 0; i < kRewardTerms; ++i) {
    EXPECT_NEAR(s.term_sum[i], counted.term_sum[i], 1e-9);
  }
  if (!options.settings.carry_over) {
    EXPECT_EQ(s.episode_length_sum, s.valid_rows);
  }
}

TEST(Launches, HoldRowsThatAddUp) {
  const bench::RandomMarket market(1000, 5, 1);
  for (const Variant& variant : Variants()) {
    SCOPED_TRACE(variant.name);
    CollectorOptions options = SmallOptions(market);
    variant.set(options);
    const auto collector = ReadyCollector(options);
    Batch batch(options.episodes, options.steps, true);
    for (uint64_t k = 0; k < 2; ++k) {
      ASSERT_TRUE(collector->Launch(Request(k), batch).ok());
      ExpectSoundRows(options, batch);
    }
  }
}

TEST(Launches, LeaveNoCuriosityWhenItIsOff) {
  const bench::RandomMarket market(1000, 5, 1);
  CollectorOptions options = SmallOptions(market);
  options.settings.curiosity_max = 0.0f;
  auto collector = MakeCpuCollector(options);
  ASSERT_TRUE(collector.ok());
  for (const auto kind : {WeightsKind::kOnline, WeightsKind::kTarget}) {
    ASSERT_TRUE(
        (*collector)->StageWeights(bench::RandomParameters(options.architecture, kind, 1)).ok());
    (*collector)->CommitWeights(kind);
  }
  ASSERT_TRUE((*collector)->CanLaunch().ok());
  Batch batch(options.episodes, options.steps, true);
  ASSERT_TRUE((*collector)->Launch(Request(0), batch).ok());
  EXPECT_EQ(batch.statistics.term_sum[4], 0.0);
}

TEST(ScriptedActions, AreTakenAsTheyAre) {
  const bench::RandomMarket market(1000, 5, 1);
  CollectorOptions options = SmallOptions(market);
  const auto collector = ReadyCollector(options);
  std::vector<uint8_t> actions(size_t{options.episodes} * options.steps);
  for (size_t i = 0; i < actions.size(); ++i) actions[i] = static_cast<uint8_t>(i * 7 % 45);
  LaunchRequest request = Request(0, 0.5f);
  request.inputs.actions = actions;
  Batch batch(options.episodes, options.steps, false);
  ASSERT_TRUE(collector->Launch(request, batch).ok());
  for (size_t i = 0; i < actions.size(); ++i) ASSERT_EQ(batch.view().action[i], actions[i]);
  EXPECT_GT(batch.statistics.explored, batch.statistics.valid_rows / 4);
  EXPECT_LT(batch.statistics.explored, batch.statistics.valid_rows * 3 / 4);
  actions[options.steps + 2] = 45;
  const absl::Status status = collector->Launch(request, batch);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("slot 1, step 2"), std::string::npos) << status;
}

TEST(ExplicitStarts, MustBeStartable) {
  const bench::RandomMarket market(1000, 5, 1);
  const CollectorOptions options = SmallOptions(market);
  const auto collector = ReadyCollector(options);
  std::vector<uint32_t> starts(options.episodes, 12);
  LaunchRequest request = Request(0);
  request.inputs.starts = starts;
  Batch batch(options.episodes, options.steps, false);
  ASSERT_TRUE(collector->Launch(request, batch).ok());
  EXPECT_EQ(batch.view().bar[0], 12u);
  starts[4] = 999;
  const absl::Status status = collector->Launch(request, batch);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("starts[4] = 999"), std::string::npos) << status;
}

TEST(Launches, AFirstRowsFeaturesArePricedAtItsOwnBar) {
  // Features of bar b are b; V passes feature 0 through, so that Q(s) = b and Q'(s') = b + 1.
  std::vector<float> features, targets;
  std::vector<uint8_t> last(6, 0);
  last.back() = 1;
  for (int b = 0; b < 6; ++b) {
    features.push_back(static_cast<float>(b));
    const float next = 100.0f + static_cast<float>(std::min(b + 1, 5));
    targets.insert(targets.end(), {100.0f + static_cast<float>(b), next, next, next});
  }
  CollectorOptions options;
  options.market = {features.data(), targets.data(), last.data(), 6, 1, 0, 6};
  options.architecture = {.features = 1,
                          .hidden1 = 16,
                          .hidden2 = 16,
                          .value_hidden = 16,
                          .advantage_hidden = 16,
                          .curiosity_hidden = 16};
  options.settings.curiosity_max = 0.0f;
  options.settings.on_barrier = OnBarrier::kRelabel;
  options.settings.recycle = false;
  options.settings.risk_scale = 0.0f;
  options.episodes = 1;
  options.steps = 10;
  auto collector = MakeCpuCollector(options);
  ASSERT_TRUE(collector.ok()) << collector.status();
  for (const auto kind : {WeightsKind::kOnline, WeightsKind::kTarget}) {
    Parameters parameters{options.architecture, kind,
                          std::vector<float>(ParameterCount(options.architecture, kind))};
    const auto layers = LayersOf(options.architecture, kind);
    for (const int layer : {0, 1, 2, 3}) parameters.values[layers[layer].weight_offset] = 1.0f;
    ASSERT_TRUE((*collector)->StageWeights(parameters).ok());
    (*collector)->CommitWeights(kind);
  }
  const std::vector<uint32_t> starts = {0};
  const std::vector<uint8_t> actions(10, 37);
  LaunchRequest request = Request(0, 0.0f);
  request.inputs.starts = starts;
  request.inputs.actions = actions;
  Batch batch(1, 10, true, true);
  ASSERT_TRUE((*collector)->Launch(request, batch).ok());
  const BatchView view = batch.view();
  EXPECT_NEAR(view.terms[0], (900.0 * 1 - 22.5) / 100'000, 1e-7) << "traded at 100, marked at 101";
  for (int b = 0; b < 5; ++b) {
    EXPECT_EQ(view.bar[b], static_cast<uint32_t>(b));
    EXPECT_EQ(view.q[b * kActions], static_cast<float>(b));
    const float goal = view.reward[b] + 0.99f * static_cast<float>(b + 1);
    EXPECT_FLOAT_EQ(view.td[b], std::fabs(goal - static_cast<float>(b)));
  }
  EXPECT_EQ(view.flags[4] & (kFlagTerminated | kFlagTruncated), kFlagTruncated)
      << "the end of the data bootstraps: td above has γ·maxQ′";
  EXPECT_EQ(batch.statistics.valid_rows, 5u) << "no row after the end of the data";
}

TEST(Launches, FailOnNanInsteadOfSendingIt) {
  const bench::RandomMarket market(1000, 5, 1);
  CollectorOptions options = SmallOptions(market);
  options.settings.carry_over = true;
  const auto collector = ReadyCollector(options);
  Batch batch(options.episodes, options.steps, false);
  ASSERT_TRUE(collector->Launch(Request(0), batch).ok());
  const std::vector<SlotState> before = collector->SlotStates();
  Parameters huge = bench::RandomParameters(options.architecture, WeightsKind::kTarget, 1);
  for (float& value : huge.values) value *= 1e38f;
  ASSERT_TRUE(collector->StageWeights(huge).ok());
  collector->CommitWeights(WeightsKind::kTarget);
  const absl::Status status = collector->Launch(Request(1), batch);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_NE(status.ToString().find("launch 1: slot 0, step 0"), std::string::npos) << status;
  const std::vector<SlotState> after = collector->SlotStates();
  EXPECT_EQ(std::memcmp(before.data(), after.data(), before.size() * sizeof(SlotState)), 0)
      << "the failed launch moved the slots";
}

TEST(Launches, RefuseABatchOfAnotherShape) {
  const bench::RandomMarket market(1000, 5, 1);
  const CollectorOptions options = SmallOptions(market);
  const auto collector = ReadyCollector(options);
  Batch batch(options.episodes, options.steps + 1, false);
  EXPECT_EQ(collector->Launch(Request(0), batch).code(), absl::StatusCode::kInvalidArgument);
  Batch right(options.episodes, options.steps, false);
  EXPECT_EQ(collector->Launch(Request(0, std::nanf("")), right).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace vixen::kernels
