// SPDX-License-Identifier: Apache-2.0
#include "learner/replay/n_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "kernels/batch/columns.h"
#include "tests/learner/replay/n_step_launch.h"

namespace vixen::learner {
namespace {

using kernels::kFlagExplored;
using kernels::kFlagTerminated;
using kernels::kFlagTruncated;
using kernels::kFlagValid;

RowList AddOne(NStepOptions options, const Launch& launch) {
  options.bars = kBars;
  NStepBuilder builder(options);
  RowList out;
  EXPECT_EQ(builder.Add(0, launch.rows(), out).total(), 0u);
  return out;
}

// reward + discount·Q at the bootstrap state, with Q = 10 there.
double Target(const ReplayRow& row) { return row.reward + row.discount * 10.0; }

TEST(NStep, GivesThePublishedTargets) {
  Launch launch(1, 3);
  launch.reward = {1, 2, 3};
  launch.flags = {kFlagValid, kFlagValid, kFlagValid | kFlagTruncated};
  RowList rows = AddOne({.n = 3, .gamma = 0.9}, launch);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_NEAR(Target(rows[0]), 12.52, 1e-5);
  EXPECT_EQ(rows[0].bootstrap_bar, 3u);
  EXPECT_EQ(rows[0].bootstrap_portfolio[0], 2.5f);

  launch.flags = {kFlagValid, kFlagValid | kFlagTerminated, kFlagValid | kFlagTruncated};
  rows = AddOne({.n = 3, .gamma = 0.9}, launch);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_NEAR(Target(rows[0]), 2.8, 1e-6);
  EXPECT_EQ(rows[0].discount, 0.0f);
}

TEST(NStep, BootstrapsATruncationAndNotATermination) {
  Launch launch(1, 1);
  launch.flags = {kFlagValid | kFlagTruncated};
  const ReplayRow truncated = AddOne({.gamma = 0.9}, launch).at(0);
  EXPECT_NEAR(truncated.reward + truncated.discount * 3.0, 2.7, 1e-6);
  launch.flags = {kFlagValid | kFlagTerminated};
  const ReplayRow terminated = AddOne({.gamma = 0.9}, launch).at(0);
  EXPECT_EQ(terminated.reward + terminated.discount * 3.0, 0.0);
}

TEST(NStep, EndsBeforeALaterExploratoryRowButNotAtItsOwn) {
  Launch launch(1, 4);
  launch.reward = {1, 1, 1, 1};
  launch.flags = {kFlagValid | kFlagExplored, kFlagValid, kFlagValid | kFlagExplored,
                  kFlagValid | kFlagTruncated};
  const RowList rows = AddOne({.n = 8, .gamma = 0.5}, launch);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].discount, 0.25f);
  EXPECT_EQ(rows[1].discount, 0.5f);
  EXPECT_EQ(rows[2].discount, 0.25f);
  EXPECT_EQ(rows[3].discount, 0.5f);
  const RowList uncut = AddOne({.n = 8, .gamma = 0.5, .cut_exploratory = false}, launch);
  EXPECT_EQ(uncut[0].discount, 0.0625f);
}

TEST(NStep, LeavesOutInvalidRows) {
  Launch launch(2, 3);
  launch.flags = {kFlagValid, kFlagValid | kFlagTerminated, 0, kFlagValid,
                  kFlagValid, kFlagValid | kFlagTruncated};
  EXPECT_EQ(AddOne({.n = 2}, launch).size(), 5u);
}

TEST(NStep, RejectsRowsThatAreNoNumbersOrOutsideAndCutsBeforeThem) {
  Launch launch(1, 6);
  launch.reward = {1, 1, std::numeric_limits<float>::quiet_NaN(), 1, 1, 1};
  launch.bar[4] = kBars - 1;  // no bar after it
  NStepBuilder builder({.n = 4, .gamma = 0.5, .bars = kBars});
  RowList out;
  const RowRejects rejects = builder.Add(0, launch.rows(), out);
  EXPECT_EQ(rejects.non_finite, 1u);
  EXPECT_EQ(rejects.out_of_range, 1u);
  ASSERT_EQ(out.size(), 4u);
  EXPECT_EQ(out[0].discount, 0.25f);
  EXPECT_EQ(out[2].discount, 0.5f);
}

TEST(NStep, RejectsActionsThatAreNotAllowed) {
  Launch launch(1, 3);
  launch.action = {1, 2, 19};
  NStepBuilder builder(
      {.bars = kBars, .allowed_actions = (uint64_t{1} << 1) | (uint64_t{1} << 19)});
  RowList out;
  EXPECT_EQ(builder.Add(0, launch.rows(), out).out_of_range, 1u);
  EXPECT_EQ(out.size(), 2u);
}

TEST(NStep, SpansConsecutiveLaunchesWithCarryOverAndWaitsForThem) {
  Launch first(1, 2), second(1, 2);
  first.reward = {1, 2};
  second.reward = {4, 8};
  second.bar = {2, 3};
  NStepBuilder builder({.n = 3, .gamma = 1.0, .carry_over = true, .bars = kBars});
  RowList out;
  builder.Add(0, first.rows(), out);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(builder.pending(), 2u);
  builder.Add(1, second.rows(), out);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].reward, 7.0f);
  EXPECT_EQ(out[1].reward, 14.0f);
  EXPECT_EQ(builder.pending(), 2u);
}

TEST(NStep, ClosesOpenWindowsWhenTheNextLaunchIsNotTheNextOne) {
  Launch first(1, 2), later(1, 2);
  first.reward = {1, 2};
  later.reward = {4, 8};
  NStepBuilder builder({.n = 3, .gamma = 1.0, .carry_over = true, .bars = kBars});
  RowList out;
  builder.Add(0, first.rows(), out);
  builder.Add(2, later.rows(), out);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].reward, 3.0f);
  EXPECT_EQ(out[1].reward, 2.0f);
  builder.Flush(out);
  ASSERT_EQ(out.size(), 4u);
  EXPECT_EQ(out[2].reward, 12.0f);
  EXPECT_EQ(builder.pending(), 0u);
}

TEST(NStep, PutsEachPlantedFaultIntoTheRowsAndNoOther) {
  Launch launch(1, 2);
  launch.action = {1, 37};
  launch.reward = {3, 5};
  launch.portfolio = {1, 2, 3, 4, 5, 6};
  NStepOptions options{.gamma = 0.5, .bars = kBars};
  options.allowed_actions = (uint64_t{1} << 1) | (uint64_t{1} << 37);
  const auto rows_with = [&](RowFault fault) {
    NStepOptions with = options;
    with.fault = fault;
    return AddOne(with, launch);
  };
  const RowList sound = rows_with(RowFault::kNone);
  for (const RowFault fault : {RowFault::kWrongAction, RowFault::kNoBootstrap, RowFault::kLookahead,
                               RowFault::kBlindPortfolio, RowFault::kLateReward}) {
    const RowList rows = rows_with(fault);
    ASSERT_EQ(rows.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      const bool blind = fault == RowFault::kBlindPortfolio;
      EXPECT_EQ(rows[i].action,
                fault == RowFault::kWrongAction ? sound[1 - i].action : sound[i].action);
      EXPECT_EQ(rows[i].discount, fault == RowFault::kNoBootstrap ? 0.0f : 0.5f);
      EXPECT_EQ(rows[i].bar, sound[i].bar + (fault == RowFault::kLookahead ? 1 : 0));
      EXPECT_EQ(rows[i].portfolio[1], blind ? 0.0f : sound[i].portfolio[1]);
      EXPECT_EQ(rows[i].bootstrap_portfolio[0], blind ? 0.0f : sound[i].bootstrap_portfolio[0]);
      EXPECT_EQ(rows[i].reward, fault != RowFault::kLateReward ? sound[i].reward
                                : i == 0                       ? 0.0f
                                                               : sound[0].reward);
    }
    EXPECT_EQ(rows[0].bootstrap_bar, fault == RowFault::kLookahead ? 2u : 1u);
  }
}

TEST(NStep, GoesOnFromACutWithItsOpenWindows) {
  const NStepOptions options{.n = 4, .gamma = 0.9, .carry_over = true, .bars = kBars};
  std::mt19937_64 random(9);
  NStepBuilder straight(options);
  auto resumed = std::make_unique<NStepBuilder>(options);
  for (uint64_t number = 0; number < 20; ++number) {
    Launch launch(3, 5);
    for (size_t i = 0; i < launch.reward.size(); ++i) {
      launch.reward[i] = static_cast<float>(random() % 100);
      if (random() % 7 == 0) launch.flags[i] |= kFlagTerminated;
      if (random() % 4 == 0) launch.flags[i] |= kFlagExplored;
    }
    const WindowsCut cut = resumed->Save();
    resumed = std::make_unique<NStepBuilder>(options);
    ASSERT_TRUE(resumed->Restore(cut).ok());
    ASSERT_EQ(resumed->pending(), straight.pending());
    RowList ours, theirs;
    straight.Add(number, launch.rows(), ours);
    resumed->Add(number, launch.rows(), theirs);
    ASSERT_EQ(ours.size(), theirs.size());
    for (size_t i = 0; i < ours.size(); ++i) {
      EXPECT_EQ(ours[i].reward, theirs[i].reward);
      EXPECT_EQ(ours[i].discount, theirs[i].discount);
      EXPECT_EQ(ours[i].bar, theirs[i].bar);
      EXPECT_EQ(ours[i].bootstrap_bar, theirs[i].bootstrap_bar);
    }
  }
}

TEST(NStep, RefusesACutWithImpossibleWindows) {
  const NStepOptions options{.n = 2, .carry_over = true, .bars = kBars};
  for (const std::vector<uint32_t>& slots :
       {std::vector<uint32_t>{2}, std::vector<uint32_t>{0, 0}, std::vector<uint32_t>{1, 0}}) {
    const WindowsCut cut{.slots = 2, .slot = slots, .rows = std::vector<ReplayRow>(slots.size())};
    EXPECT_EQ(NStepBuilder(options).Restore(cut).code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace vixen::learner
