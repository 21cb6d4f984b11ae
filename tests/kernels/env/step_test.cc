// SPDX-License-Identifier: Apache-2.0
#include "kernels/env/step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/kernels/small_market.h"

namespace vixen::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

EnvSettings OnlyActions(std::vector<uint8_t> actions) {
  EnvSettings settings;
  settings.action_count = static_cast<uint8_t>(actions.size());
  std::copy(actions.begin(), actions.end(), settings.actions);
  return settings;
}

TEST(GreedyAction, TakesTheLowestIndexOfTheLargest) {
  std::vector<float> q(kActions, 0.0f);
  q[7] = q[30] = 2.0f;
  EXPECT_EQ(GreedyAction(EnvSettings(), q.data(), 1), 7);
  EXPECT_EQ(GreedyAction(OnlyActions({3, 30, 44}), q.data(), 1), 30);
}

TEST(GreedyAction, LooksAtAllowedActionsOnly) {
  std::vector<float> q(kActions, 0.0f);
  q[1] = 5.0f;
  q[28] = -1.0f;
  q[19] = -2.0f;
  EXPECT_EQ(GreedyAction(OnlyActions({19, 28}), q.data(), 1), 28);
}

TEST(GreedyAction, IsDefinedWithNan) {
  std::vector<float> q(kActions, kNan);
  EXPECT_EQ(GreedyAction(EnvSettings(), q.data(), 1), 0);
  q[9] = -5.0f;
  EXPECT_EQ(GreedyAction(EnvSettings(), q.data(), 1), 9) << "a NaN never wins against a number";
  q[4] = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(GreedyAction(EnvSettings(), q.data(), 1), 9);
}

TEST(ChooseAction, DrawsTwiceWhetherOrNotItExplores) {
  const EnvSettings settings;
  const uint32_t after_two = NextRandom(NextRandom(12345));
  for (const float epsilon : {0.0f, 0.5f, 1.0f}) {
    uint32_t rng = 12345;
    ChooseAction(settings, epsilon, 3, -1, rng);
    EXPECT_EQ(rng, after_two);
    rng = 12345;
    ChooseAction(settings, epsilon, 3, 5, rng);
    EXPECT_EQ(rng, after_two);
  }
}

TEST(ChooseAction, ExploresBelowEpsilon) {
  const EnvSettings settings;  // u1 = 0.446…, u2 = 0.472… after 12345
  uint32_t rng = 12345;
  Choice choice = ChooseAction(settings, 0.5f, 3, -1, rng);
  EXPECT_TRUE(choice.explored);
  EXPECT_EQ(choice.action, 21) << "floor(0.4724983540 · 45)";
  rng = 12345;
  choice = ChooseAction(settings, 0.4f, 3, -1, rng);
  EXPECT_FALSE(choice.explored);
  EXPECT_EQ(choice.action, 3);
}

TEST(ChooseAction, ClampsTheIndexOfADrawOfOne) {
  // The x before the one whose low 23 bits are all set, so that u2 = 1.
  const auto before = [](uint32_t x) { return (x - 1013904223u) * 4276115653u; };
  ASSERT_EQ(NextRandom(before(0x007FFFFFu)), 0x007FFFFFu);
  uint32_t rng = before(before(0x007FFFFFu));
  EXPECT_EQ(ChooseAction(OnlyActions({2, 40}), 1.0f, 2, -1, rng).action, 40);
}

TEST(ChooseAction, AScriptedActionKeepsTheDrawsWord) {
  uint32_t rng = 12345;
  const Choice choice = ChooseAction(EnvSettings(), 0.5f, 3, 11, rng);
  EXPECT_EQ(choice.action, 11);
  EXPECT_TRUE(choice.explored);
}

TEST(Step, RecyclesToAFreshEpisodeFromOneDraw) {
  SmallMarket market(std::vector<float>(50, 100.0f));
  EnvSettings settings = RelabelSettings();
  settings.recycle = true;
  settings.max_episode_steps = 2;
  Walk walk(market, settings);
  walk.Step(kFullLong);
  const uint32_t rng = walk.slot().rng;
  const StepRecord record = walk.Step(kFullLong);
  EXPECT_EQ(record.flags & (kFlagTerminated | kFlagTruncated), kFlagTruncated);
  const SlotState& slot = walk.slot();
  EXPECT_EQ(slot.rng, NextRandom(rng));
  EXPECT_EQ(slot.bar, StartBar(market.view(), slot.rng));
  EXPECT_EQ(slot.episode, 1u);
  EXPECT_EQ(slot.step, 0u);
  EXPECT_EQ(slot.cash, 100'000.0f);
  EXPECT_EQ(slot.position, 0.0f);
  EXPECT_EQ(slot.category_count[2], 0u);
  EXPECT_EQ(slot.barrier_armed, 0);
}

// What an executor may do that holds the scalars in registers, one place of the window, and the
// portfolio of the state that the step before left.
TEST(Step, GivesTheSameSlotsWithTheScalarsApartFromTheWindow) {
  std::vector<float> close = {100.0f};
  uint32_t random = 7;
  while (close.size() < 2000) {
    random = NextRandom(random);
    close.push_back(close.back() * (1.0f + 0.002f * (UniformOf(random) - 0.5f)));
  }
  const SmallMarket market(close);
  const MarketView view = market.view();
  EnvSettings settings;
  settings.max_episode_steps = 350;
  settings.on_barrier = OnBarrier::kRelabel;
  const Rules rules = MakeRules(settings, 1'000'000);
  const auto start_of = [&view](uint32_t draw) { return StartBar(view, draw); };
  SlotState whole = FreshSlot(rules, 1, 0, 0);
  SlotState apart = whole;
  float seen[kPortfolioFeatures] = {1.0f, 0.0f, 0.0f};
  int ended = 0;
  for (uint32_t step = 0; step < 3000; ++step) {
    random = NextRandom(random);
    const Choice choice{static_cast<int>((random >> 8) % kActions), false};
    const StepRecord record = StepSlot(rules, view, choice, step, whole);

    uint8_t& category = apart.category_window[apart.step % kDiversityWindow];
    SlotRegisters<WindowPlace> registers(apart, WindowPlace{category});
    const StepBar bar = ReadBar(view, apart.bar);
    const StepStart start{{seen[0], seen[1], seen[2]}, EquityAt(registers, bar.close)};
    const StepRecord same = AdvanceSlot(rules, bar, start, choice, TermsOf(rules, choice.action),
                                        step, start_of, registers);
    registers.Store(apart);
    category = registers.category_window.category;
    const bool ends = (same.flags & (kFlagTerminated | kFlagTruncated)) != 0;
    if (ends) std::fill_n(apart.category_window, kDiversityWindow, uint8_t{0});
    ended += ends;
    seen[0] = ends ? 1.0f : same.next_portfolio[0];
    seen[1] = ends ? 0.0f : same.next_portfolio[1];
    seen[2] = ends ? 0.0f : same.next_portfolio[2];

    ASSERT_EQ(std::memcmp(&apart, &whole, sizeof(whole)), 0) << step;
    ASSERT_EQ(std::memcmp(same.portfolio, record.portfolio, sizeof(record.portfolio)), 0) << step;
    ASSERT_EQ(std::memcmp(&same.pnl, &record.pnl, 4 * sizeof(float)), 0) << step;
  }
  EXPECT_GT(ended, 3);
}

TEST(Step, StopsBeforeTheEndOfTheRange) {
  SmallMarket market(std::vector<float>(50, 100.0f));
  const Rules rules = MakeRules(RelabelSettings(), 100);
  MarketView view = market.view();
  view.end = 3;
  SlotState slot = FreshSlot(rules, 1, 0, 0);
  EXPECT_EQ(StepSlot(rules, view, Choice{kFlat, false}, 0, slot).flags & kFlagTruncated, 0);
  EXPECT_EQ(StepSlot(rules, view, Choice{kFlat, false}, 1, slot).flags & kFlagTruncated,
            kFlagTruncated);
}

TEST(Step, TheLaunchsLastStepTruncatesUnlessEpisodesCarryOver) {
  SmallMarket market(std::vector<float>(50, 100.0f));
  EnvSettings settings = RelabelSettings();
  for (const bool carry_over : {false, true}) {
    settings.carry_over = carry_over;
    const Rules rules = MakeRules(settings, 10);
    SlotState slot = FreshSlot(rules, 1, 0, 0);
    const StepRecord record = StepSlot(rules, market.view(), Choice{kFlat, false}, 9, slot);
    EXPECT_EQ((record.flags & kFlagTruncated) != 0, !carry_over);
  }
}

TEST(Portfolio, ObservesEquityExposureAndUnrealisedGain) {
  const Rules rules = MakeRules(EnvSettings(), 1);
  SlotState slot;
  slot.cash = 10'000;
  slot.position = 900;
  slot.entry = 100;
  float features[kPortfolioFeatures];
  ObservePortfolio(rules, slot, 110, features);
  EXPECT_FLOAT_EQ(features[0], 1.09f);
  EXPECT_FLOAT_EQ(features[1], 99'000.0f / 109'000.0f);
  EXPECT_FLOAT_EQ(features[2], 0.1f);
  slot.position = -900;
  slot.cash = 190'000;
  ObservePortfolio(rules, slot, 110, features);
  EXPECT_FLOAT_EQ(features[2], -0.1f);
}

TEST(Portfolio, ClampsTheExposureOfALostPortfolio) {
  const Rules rules = MakeRules(EnvSettings(), 1);
  EXPECT_EQ(Exposure(rules, 900, 100, -5000), 10.0f);
  EXPECT_EQ(Exposure(rules, -900, 100, -5000), -10.0f);
}

TEST(Reward, RiskChargesAboveTheThresholdOnly) {
  const EnvSettings settings;
  EXPECT_EQ(RiskTerm(settings, 0.8f), 0.0f);
  EXPECT_NEAR(RiskTerm(settings, -0.9f), -0.05f, 1e-7);
}

TEST(Reward, CuriosityIsCappedAndLetsNanThrough) {
  const EnvSettings settings;
  EXPECT_EQ(CuriosityTerm(settings, 0.05f), 0.05f);
  EXPECT_EQ(CuriosityTerm(settings, 7.0f), 0.1f);
  EXPECT_TRUE(std::isnan(CuriosityTerm(settings, kNan)));
}

TEST(TdErrors, SelectTheRewardAloneWhenTerminated) {
  const EnvSettings settings;
  EXPECT_FLOAT_EQ(TdError(settings, true, 1.0f, std::numeric_limits<float>::infinity(), 0.25f),
                  0.75f);
  EXPECT_FLOAT_EQ(TdError(settings, false, 1.0f, 2.0f, 0.25f), 2.73f);
}

}  // namespace
}  // namespace vixen::kernels
