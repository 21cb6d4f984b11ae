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
#include "learner/replay/replay.h"

namespace vixen::learner {
namespace {

using kernels::kFlagExplored;
using kernels::kFlagTerminated;
using kernels::kFlagTruncated;
using kernels::kFlagValid;

constexpr uint64_t kBars = 1'000'000;

// The owner of one launch's columns.
struct Launch {
  Launch(uint32_t episodes, uint32_t steps) : episodes(episodes), steps(steps) {
    const size_t rows = size_t{episodes} * steps;
    bar.resize(rows);
    action.resize(rows);
    flags.resize(rows, kFlagValid);
    portfolio.resize(3 * rows);
    next_portfolio.resize(3 * rows);
    reward.resize(rows);
    td.resize(rows);
    for (size_t i = 0; i < rows; ++i) {
      bar[i] = static_cast<uint32_t>(i);
      next_portfolio[3 * i] = static_cast<float>(i) + 0.5f;
    }
  }
  LaunchRows rows() const {
    return {episodes,
            steps,
            bar.data(),
            action.data(),
            flags.data(),
            portfolio.data(),
            next_portfolio.data(),
            reward.data(),
            td.data()};
  }

  uint32_t episodes, steps;
  std::vector<uint32_t> bar;
  std::vector<uint8_t> action, flags;
  std::vector<float> portfolio, next_portfolio, reward, td;
};

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

// A row as the slow reference sees it: its own episode's steps, in doubles, by enumeration.
struct Expected {
  double reward, discount;
  uint32_t bootstrap_bar;
};

// Rows of one slot in time order; `end` is where the data known so far ends.
Expected Reference(const std::vector<float>& reward, const std::vector<uint8_t>& flags, size_t i,
                   uint32_t n, double gamma) {
  Expected expected{0, 1, 0};
  for (size_t k = i; k < reward.size() && k < i + n; ++k) {
    if (k > i && (flags[k] & kFlagExplored) != 0) break;
    expected.reward += std::pow(gamma, static_cast<double>(k - i)) * reward[k];
    expected.discount = std::pow(gamma, static_cast<double>(k - i + 1));
    expected.bootstrap_bar = static_cast<uint32_t>(k) + 1;
    if ((flags[k] & kFlagTerminated) != 0) {
      expected.discount = 0;
      break;
    }
    if ((flags[k] & kFlagTruncated) != 0) break;
  }
  return expected;
}

// Episodes of 1, 4, 5, 6 and 500 steps whose reward is the episode's number, so that a leak across
// an end shows; half end terminated, half truncated; some rows explored. The launches are fed
// through a ring that is written more than three times round, and every row in it is compared.
void CheckAgainstReference(uint32_t n, uint32_t steps, bool carry_over, double explored) {
  constexpr uint32_t kSlots = 3;
  constexpr double kGamma = 0.5;
  const size_t total = size_t{1000} / steps * steps;
  std::mt19937_64 random(n * 1000 + steps);
  std::bernoulli_distribution explores(explored);
  const size_t lengths[] = {1, 4, 5, 6, 500};
  std::vector<std::vector<float>> reward(kSlots);
  std::vector<std::vector<uint8_t>> flags(kSlots);
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    for (int episode = 1; reward[slot].size() < total; ++episode) {
      const size_t length = lengths[random() % 5];
      for (size_t t = 0; t < length && reward[slot].size() < total; ++t) {
        uint8_t flag = kFlagValid;
        if (explores(random)) flag |= kFlagExplored;
        if (t + 1 == length) flag |= episode % 2 == 0 ? kFlagTerminated : kFlagTruncated;
        const bool launch_ends = (reward[slot].size() + 1) % steps == 0;
        if (!carry_over && launch_ends && (flag & kFlagTerminated) == 0) flag |= kFlagTruncated;
        reward[slot].push_back(static_cast<float>(episode));
        flags[slot].push_back(flag);
      }
    }
  }

  NStepBuilder builder({.n = n, .gamma = kGamma, .carry_over = carry_over, .bars = kBars});
  Replay replay({.capacity = 701});
  RowList out;
  uint64_t compared = 0;
  for (size_t begin = 0; begin < total; begin += steps) {
    Launch launch(kSlots, steps);
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      for (uint32_t t = 0; t < steps; ++t) {
        const size_t row = size_t{slot} * steps + t;
        launch.reward[row] = reward[slot][begin + t];
        launch.flags[row] = flags[slot][begin + t];
        launch.bar[row] = static_cast<uint32_t>(begin + t);
        launch.portfolio[3 * row] = static_cast<float>(slot);
      }
    }
    out.clear();
    builder.Add(begin / steps, launch.rows(), out);
    if (begin + steps == total) builder.Flush(out);
    replay.Insert(out);
    for (uint64_t slot = 0; slot < replay.size(); ++slot) {
      const ReplayRow& row = replay.row(static_cast<uint32_t>(slot));
      const auto s = static_cast<size_t>(row.portfolio[0]);
      const Expected expected = Reference(reward[s], flags[s], row.bar, n, kGamma);
      ASSERT_NEAR(row.reward, expected.reward, 1e-6 * std::abs(expected.reward) + 1e-6);
      ASSERT_NEAR(row.discount, expected.discount, 1e-7);
      ASSERT_EQ(row.bootstrap_bar, expected.bootstrap_bar);
      ++compared;
    }
  }
  EXPECT_EQ(replay.inserted(), kSlots * total);
  EXPECT_GT(replay.inserted(), 3 * replay.capacity());
  EXPECT_GT(compared, 1000u);
}

TEST(NStep, AgreesWithEnumerationInsideLaunches) {
  for (uint32_t n : {1u, 2u, 5u, 8u}) CheckAgainstReference(n, 100, false, 0.1);
  CheckAgainstReference(5, 100, false, 0.0);
}

TEST(NStep, AgreesWithEnumerationAcrossLaunches) {
  for (uint32_t n : {1u, 3u, 5u, 8u}) CheckAgainstReference(n, 4, true, 0.1);
  CheckAgainstReference(5, 4, true, 0.0);
  CheckAgainstReference(64, 4, true, 0.0);
}

// What a step can be: its flags, and whether its reward is a number.
struct StepKind {
  uint8_t flags;
  bool finite;
};
constexpr StepKind kStepKinds[] = {{kFlagValid, true},
                                   {kFlagValid | kFlagExplored, true},
                                   {kFlagValid | kFlagTerminated, true},
                                   {kFlagValid | kFlagTruncated, true},
                                   {kFlagValid | kFlagExplored | kFlagTerminated, true},
                                   {kFlagValid | kFlagExplored | kFlagTruncated, true},
                                   {0, true},
                                   {kFlagValid, false}};
constexpr uint32_t kKinds = std::size(kStepKinds);
constexpr uint32_t kSequence = 4;  // steps of one slot, in two launches

// The rows of one slot's steps `kind`; no window crosses `border` unless `joined`.
std::vector<Expected> RowsOfSequence(const std::array<uint32_t, kSequence>& kind, uint32_t n,
                                     uint32_t border, bool joined) {
  const auto is_row = [&](uint32_t t) {
    const StepKind& step = kStepKinds[kind[t]];
    return (step.flags & kFlagValid) != 0 && step.finite;
  };
  std::vector<Expected> rows;
  for (uint32_t i = 0; i < kSequence; ++i) {
    if (!is_row(i)) continue;
    Expected row{0, 1, 0};
    for (uint32_t k = i; k < std::min(i + n, kSequence); ++k) {
      if (k > i && (!is_row(k) || (kStepKinds[kind[k]].flags & kFlagExplored) != 0)) break;
      if (k == border && k > i && !joined) break;
      row.reward += row.discount * (k + 1);
      row.discount *= 0.5;
      row.bootstrap_bar = k + 1;
      if ((kStepKinds[kind[k]].flags & kFlagTruncated) != 0) break;
      if ((kStepKinds[kind[k]].flags & kFlagTerminated) == 0) continue;
      row.discount = 0;
      break;
    }
    rows.push_back(row);
  }
  return rows;
}

// All of them: each kind of step at each place, the launch's border at each place, the next launch
// there, missing, or of no interest.
TEST(NStep, AgreesWithEnumerationOfEveryMixtureOfCutsAroundABorder) {
  for (uint32_t code = 0; code < kKinds * kKinds * kKinds * kKinds; ++code) {
    std::array<uint32_t, kSequence> kind{};
    for (uint32_t t = 0, rest = code; t < kSequence; ++t, rest /= kKinds) kind[t] = rest % kKinds;
    for (const uint32_t n : {1u, 2u, 3u, 5u}) {
      for (uint32_t border = 1; border < kSequence; ++border) {
        for (const auto& [carry_over, second] :
             {std::pair(true, 1u), std::pair(true, 2u), std::pair(false, 1u)}) {
          NStepBuilder builder({.n = n, .gamma = 0.5, .carry_over = carry_over, .bars = kBars});
          RowList out;
          for (const uint32_t number : {0u, second}) {
            const uint32_t begin = number == 0 ? 0 : border, end = number == 0 ? border : kSequence;
            Launch launch(1, end - begin);
            for (uint32_t t = begin; t < end; ++t) {
              launch.bar[t - begin] = t;
              launch.flags[t - begin] = kStepKinds[kind[t]].flags;
              launch.reward[t - begin] =
                  kStepKinds[kind[t]].finite ? static_cast<float>(t + 1) : std::nanf("");
            }
            builder.Add(number, launch.rows(), out);
          }
          builder.Flush(out);
          const std::vector<Expected> expected =
              RowsOfSequence(kind, n, border, carry_over && second == 1);
          ASSERT_EQ(out.size(), expected.size()) << code << " n " << n << " border " << border;
          for (size_t i = 0; i < out.size(); ++i) {
            ASSERT_EQ(out[i].reward, expected[i].reward) << code << " n " << n << " b " << border;
            ASSERT_EQ(out[i].discount, expected[i].discount)
                << code << " n " << n << " border " << border;
            ASSERT_EQ(out[i].bootstrap_bar, expected[i].bootstrap_bar);
          }
        }
      }
    }
  }
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
