// SPDX-License-Identifier: Apache-2.0
// The beds against their published optima: by dynamic programming, and by walking them.
#include <cmath>
#include <string>
#include <vector>

#include "base/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "market/synth/bed.h"
#include "market/synth/beds.h"
#include "market/synth/optimum.h"

namespace vixen::market {
namespace {

std::unique_ptr<Bed> Make(const std::string& name, BedOptions options = {}) {
  auto bed = MakeBed(name, options);
  EXPECT_TRUE(bed.ok()) << bed.status();
  return *std::move(bed);
}

struct Published {
  std::string bed;
  BedOptions options;
  double reward;     // J*
  double precision;  // half of the last printed digit, and the grid's share
};

const Published kPublished[] = {
    {"b0", {}, 0.13333, 1e-5},
    {"b1", {{}, 0.1}, 0.11250, 1e-6},
    {"b1", {{}, 0.05}, 0.11875, 1e-6},
    {"b1", {{}, 0.2}, 0.10000, 1e-6},
    {"b1", {{}, 0.5}, 0.06250, 1e-6},
    {"b2", {0.8, 0.1}, 0.13028, 1.5e-5},
    {"b2", {0.8, 0.3}, 0.09612, 1.5e-5},
    {"b2", {0.9, 0.1}, 0.06403, 1.5e-5},
    {"b2", {0.9, 0.3}, 0.04743, 1.5e-5},
    {"b2", {0.9, 0.5}, 0.03618, 1.5e-5},
    {"b2", {0.95, 0.1}, 0.03174, 1.5e-5},
    {"b2", {0.95, 0.3}, 0.02356, 1.5e-5},
    {"b3", {}, 0.3566, 1e-4},
    {"b4", {}, 0.3566, 1e-4},
    {"b5", {}, 0, 1e-9},
};

std::string Describe(const Published& p) {
  return p.bed + " rho " + std::to_string(p.options.rho.value_or(-1)) + " cost " +
         std::to_string(p.options.cost.value_or(-1));
}

TEST(SynthBeds, DynamicProgrammingFindsThePublishedOptima) {
  for (const Published& published : kPublished) {
    const auto bed = Make(published.bed, published.options);
    EXPECT_NEAR(SolveOptimum(bed->Chain(), bed->traits().cost).reward, published.reward,
                published.precision)
        << Describe(published);
  }
}

TEST(SynthBeds, WalkingTheOptimalPolicyEarnsThePublishedReward) {
  constexpr int kWalks = 200;
  for (const Published& published : kPublished) {
    const auto bed = Make(published.bed, published.options);
    const Optimum optimum = SolveOptimum(bed->Chain(), bed->traits().cost);
    double sum = 0, sum_squares = 0;
    for (int i = 0; i < kWalks; ++i) {
      const BedPath path = bed->Walk(Noise(7000 + i, 0), 2001);
      const double reward = Evaluate(path, optimum.Follow(path), bed->traits().cost).reward;
      sum += reward;
      sum_squares += reward * reward;
    }
    const double mean = sum / kWalks;
    const double error = std::sqrt((sum_squares / kWalks - mean * mean) / kWalks);
    // The walks begin flat, which costs at most one entry in 2,000 steps.
    EXPECT_NEAR(mean, published.reward, 4 * error + 1e-3 * bed->traits().cost + 1e-4)
        << Describe(published);
  }
}

// Smallest level at which a long position is given up for a short one.
double FlipLevel(const BedOptions& options) {
  const auto bed = Make("b2", options);
  const Optimum optimum = SolveOptimum(bed->Chain(), bed->traits().cost);
  for (size_t s = 0; s < optimum.policy.size(); ++s) {
    if (optimum.policy[s][2] == 0) return -5 + 0.025 * static_cast<double>(s);
  }
  return 99;
}

TEST(SynthBeds, TheLevelIsTradedAtThePublishedThresholds) {
  EXPECT_NEAR(FlipLevel({0.8, 0.1}), 0.350, 1e-9);
  EXPECT_NEAR(FlipLevel({0.8, 0.3}), 0.700, 1e-9);
  EXPECT_NEAR(FlipLevel({0.9, 0.1}), 0.450, 1e-9);
  EXPECT_NEAR(FlipLevel({0.9, 0.3}), 0.800, 1e-9);
  EXPECT_NEAR(FlipLevel({0.9, 0.5}), 1.025, 1e-9);
  EXPECT_NEAR(FlipLevel({0.95, 0.1}), 0.525, 1e-9);
  EXPECT_NEAR(FlipLevel({0.95, 0.3}), 0.875, 1e-9);
}

TEST(SynthBeds, TurnoverIsThePublishedOne) {
  const auto turnover = [](const std::string& name, const BedOptions& options) {
    const auto bed = Make(name, options);
    const Optimum optimum = SolveOptimum(bed->Chain(), bed->traits().cost);
    const BedPath path = bed->Walk(Noise(1, 0), 400'001);
    return Evaluate(path, optimum.Follow(path), bed->traits().cost).turnover;
  };
  EXPECT_NEAR(turnover("b1", {}), 0.125, 1e-4);
  EXPECT_NEAR(turnover("b2", {0.9, 0.1}), 0.1094, 0.002);
  EXPECT_NEAR(turnover("b2", {0.9, 0.3}), 0.0652, 0.002);
  EXPECT_EQ(turnover("b5", {}), 0);
}

TEST(SynthBeds, TheBeliefIsTradedAtTwoThirds) {
  const auto bed = Make("b3");
  const Optimum optimum = SolveOptimum(bed->Chain(), bed->traits().cost);
  size_t s = 0;
  while (optimum.policy[s][0] != 2) ++s;
  const double log_odds = -9 + 0.075 * static_cast<double>(s);
  EXPECT_NEAR(1 / (1 + std::exp(-log_odds)), 0.66, 0.02);
}

TEST(SynthBeds, TheSignPolicyLosesOnTheCostlyLevel) {
  const auto bed = Make("b2");
  const BedPath path = bed->Walk(Noise(3, 0), 400'001);
  std::vector<uint8_t> positions;
  for (double level : path.level) positions.push_back(level < 0 ? 2 : 0);
  EXPECT_NEAR(Evaluate(path, positions, 0.3).reward, -0.00635, 0.002);
}

TEST(SynthBeds, ABeliefIsCalibrated) {
  const auto bed = Make("b3");
  const BedPath path = bed->Walk(Noise(5, 0), 300'001);
  double moves = 0, forecasts = 0;
  for (size_t t = 0; t + 1 < path.level.size(); ++t) {
    const double belief = path.signals[t];
    if (belief < 0.6) continue;
    moves += path.level[t + 1] - path.level[t];
    forecasts += 0.5 * (1 - 2 * 0.02) * belief;
  }
  EXPECT_NEAR(moves / forecasts, 1, 0.02);
}

TEST(SynthBeds, TheHiddenRegimeShowsTheMovesThatTheLevelMade) {
  const auto bed = Make("b4");
  const BedPath path = bed->Walk(Noise(5, 0), 100);
  ASSERT_EQ(bed->traits().signals.size(), 32u);
  for (size_t t = 33; t < 100; ++t) {
    EXPECT_NEAR(path.signals[t * 32], path.level[t] - path.level[t - 1], 1e-5);
    EXPECT_NEAR(path.signals[t * 32 + 31], path.level[t - 31] - path.level[t - 32], 1e-5);
  }
}

TEST(SynthBeds, ARandomWalkShowsItsLastThreeMoves) {
  const auto bed = Make("b5");
  const BedPath path = bed->Walk(Noise(5, 0), 50);
  for (size_t t = 3; t < 50; ++t) {
    for (size_t back = 0; back < 3; ++back) {
      EXPECT_NEAR(path.signals[t * 3 + back], path.level[t - back] - path.level[t - back - 1],
                  1e-5);
    }
  }
}

TEST(SynthBeds, NoiseIsAFunctionOfSeedStreamAndIndex) {
  const Noise a(1, 0), b(2, 0), c(1, 1);
  EXPECT_EQ(a.Bits(5), Noise(1, 0).Bits(5));
  EXPECT_NE(a.Bits(5), b.Bits(5));
  EXPECT_NE(a.Bits(5), c.Bits(5));
  double sum = 0, squares = 0, product = 0;
  constexpr int kDraws = 200'000;
  for (uint64_t i = 0; i < kDraws; ++i) {
    sum += a.Normal(i);
    squares += a.Normal(i) * a.Normal(i);
    product +=
        a.Normal(i) * a.Normal(i + 1) + a.Normal(i) * b.Normal(i) + a.Normal(i) * c.Normal(i);
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.01);
  EXPECT_NEAR(squares / kDraws, 1, 0.015);
  EXPECT_NEAR(product / kDraws, 0, 0.02);
}

TEST(SynthBeds, UnknownNamesAreUsageErrorsThatListTheKnown) {
  for (const char* name : {"b6", "b8", "b9", "ou", ""}) {
    const auto bed = MakeBed(name, {});
    EXPECT_EQ(bed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(base::IsUsageError(bed.status()));
    EXPECT_THAT(bed.status().message(), testing::HasSubstr("b0, b1, b2, b3, b4, b5, b7"));
  }
}

TEST(SynthBeds, OptionsThatABedDoesNotHaveAreUsageErrors) {
  EXPECT_TRUE(base::IsUsageError(MakeBed("b1", {0.9, {}}).status()));
  EXPECT_TRUE(base::IsUsageError(MakeBed("b0", {{}, 0.1}).status()));
  EXPECT_TRUE(base::IsUsageError(MakeBed("b2", {1.0, {}}).status()));
  const auto bed = MakeBed("b2", {{}, -1.0});
  EXPECT_TRUE(base::IsUsageError(bed.status()));
  EXPECT_THAT(bed.status().message(), testing::HasSubstr("--cost = -1"));
}

}  // namespace
}  // namespace vixen::market
