// SPDX-License-Identifier: Apache-2.0
// n-step rows against a slow reference that enumerates each row's steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

#include "kernels/batch/columns.h"
#include "learner/replay/n_step.h"
#include "learner/replay/replay.h"
#include "tests/learner/replay/n_step_launch.h"

namespace vixen::learner {
namespace {

using kernels::kFlagExplored;
using kernels::kFlagTerminated;
using kernels::kFlagTruncated;
using kernels::kFlagValid;

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

}  // namespace
}  // namespace vixen::learner
