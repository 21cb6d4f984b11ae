// SPDX-License-Identifier: Apache-2.0
// No row may depend on a bar after it, on another segment, or on how much history came long before.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "market/features.h"
#include "tests/market/example_bars.h"

namespace vixen::market {
namespace {

FeatureRows Compute(const Bars& bars, int warm_up = kLeastWarmUp) {
  auto rows = ComputeFeatures(bars, warm_up);
  EXPECT_TRUE(rows.ok()) << rows.status();
  return *std::move(rows);
}

// The first `rows` rows of both, bit by bit; says which feature differs.
void ExpectEqualBits(const FeatureRows& a, const FeatureRows& b, size_t rows) {
  ASSERT_LE(rows * kFeatureCount, a.features.size());
  ASSERT_LE(rows * kFeatureCount, b.features.size());
  for (size_t i = 0; i < rows * kFeatureCount; ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(a.features[i]), std::bit_cast<uint32_t>(b.features[i]))
        << FeatureNames()[i % kFeatureCount] << " in row " << i / kFeatureCount;
  }
}

TEST(FeaturesCausality, CuttingTheFutureLeavesEarlierRowsBitEqual) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const Bars bars = RandomBars(seed, 1, 700);
    const FeatureRows all = Compute(bars);
    for (size_t end = 62; end <= 700; end += 7) {
      const FeatureRows cut = Compute(Cut(bars, 0, end));
      ASSERT_EQ(cut.bar.size(), end - 60);
      ExpectEqualBits(all, cut, end - 60);
    }
  }
}

TEST(FeaturesCausality, ChangingALaterBarLeavesEarlierRowsBitEqual) {
  std::mt19937_64 random(4);
  const Bars bars = RandomBars(4, 1, 700);
  const FeatureRows all = Compute(bars);
  for (int trial = 0; trial < 60; ++trial) {
    const size_t place = 61 + random() % 639;
    Bars changed = bars;
    const double factor = 0.25 + static_cast<double>(random() % 64);
    for (auto* column :
         {&changed.open, &changed.high, &changed.low, &changed.close, &changed.volume}) {
      for (size_t k = place; k < std::min<size_t>(place + 1 + trial % 3, 700); ++k)
        (*column)[k] *= factor;
    }
    ExpectEqualBits(all, Compute(changed), place - 60);
  }
}

TEST(FeaturesCausality, EachSegmentStartsAfresh) {
  const Bars bars = RandomBars(5, 4, 200);
  const FeatureRows all = Compute(bars);
  for (size_t segment = 0; segment < 4; ++segment) {
    const FeatureRows alone = Compute(Cut(bars, segment * 200, (segment + 1) * 200));
    FeatureRows part;
    part.features.assign(
        all.features.begin() + static_cast<std::ptrdiff_t>(segment * 140 * kFeatureCount),
        all.features.begin() + static_cast<std::ptrdiff_t>((segment + 1) * 140 * kFeatureCount));
    ExpectEqualBits(part, alone, 140);
  }
}

TEST(FeaturesCausality, StartingTwoHundredAndFiftyBarsLaterMovesNothingPerceptibly) {
  for (uint64_t seed = 6; seed <= 10; ++seed) {
    const Bars bars = RandomBars(seed, 1, 900);
    const FeatureRows all = Compute(bars, kDefaultWarmUp);
    const FeatureRows later = Compute(Cut(bars, 250, 900), kDefaultWarmUp);
    ASSERT_EQ(later.bar.size(), 400u);
    for (size_t i = 0; i < later.features.size(); ++i) {
      const float early = all.features[250 * kFeatureCount + i];
      ASSERT_NEAR(early, later.features[i], 1e-6 + 2e-7 * std::abs(early))
          << FeatureNames()[i % kFeatureCount];
    }
  }
}

TEST(FeaturesCausality, BlocksAndThreadsDoNotChangeABit) {
  const Bars bars = RandomBars(13, 2, 1500);
  const FeatureRows all = Compute(bars);
  for (const size_t block : {size_t{64}, size_t{65}, size_t{127}, size_t{500}, size_t{4096}}) {
    for (const int threads : {1, 3}) {
      FeatureRows rows;
      const auto visit = [&rows](uint64_t first_bar, std::span<const float> values) {
        for (size_t i = 0; i < values.size() / kFeatureCount; ++i)
          rows.bar.push_back(first_bar + i);
        rows.features.insert(rows.features.end(), values.begin(), values.end());
      };
      ASSERT_EQ(VisitFeatures(bars, kLeastWarmUp, threads, visit, block), absl::OkStatus());
      ASSERT_EQ(rows.bar, all.bar);
      ExpectEqualBits(all, rows, all.bar.size());
    }
  }
}

TEST(FeaturesCausality, AWarmUpLongerThanABlockGivesTheSameRows) {
  const Bars bars = RandomBars(14, 1, 700);
  const FeatureRows all = Compute(bars), late = Compute(bars, 300);
  FeatureRows rows;
  ASSERT_EQ(VisitFeatures(
                bars, 300, 1,
                [&rows](uint64_t first_bar, std::span<const float> values) {
                  for (size_t i = 0; i < values.size() / kFeatureCount; ++i)
                    rows.bar.push_back(first_bar + i);
                  rows.features.insert(rows.features.end(), values.begin(), values.end());
                },
                100),
            absl::OkStatus());
  ASSERT_EQ(rows.bar, late.bar);
  ExpectEqualBits(late, rows, late.bar.size());
  const FeatureRows tail{{}, {all.features.begin() + 240 * kFeatureCount, all.features.end()}, 0};
  ExpectEqualBits(tail, rows, late.bar.size());
}

TEST(FeaturesCausality, EveryFeatureReactsToItsOwnBar) {
  const Bars bars = RandomBars(11, 1, 400);
  const FeatureRows all = Compute(bars);
  Bars changed = bars;
  changed.open.back() *= 1.01;
  changed.high.back() *= 1.2;
  changed.low.back() *= 0.7;
  changed.close.back() *= 1.1;
  changed.volume.back() = 1e6;
  changed.timestamp.back() += 61 * kMinute;
  const FeatureRows other = Compute(changed);
  for (size_t i = 0; i < kFeatureCount; ++i) {
    const size_t place = all.features.size() - kFeatureCount + i;
    EXPECT_NE(all.features[place], other.features[place]) << FeatureNames()[i];
  }
}

TEST(FeaturesCausality, ValuesStayInsideTheirRanges) {
  struct Range {
    const char* name;
    float least, most;
  };
  const Range kRanges[] = {{"clv", -1, 1},
                           {"upper_shadow", 0, 1},
                           {"lower_shadow", 0, 1},
                           {"body_ratio", -1, 1},
                           {"high60_dist", -1, 0},
                           {"adx14", 0, 1},
                           {"di_diff14", -1, 1},
                           {"aroonosc14", -1, 1},
                           {"rsi14", -1, 1},
                           {"stoch_k", -1, 1},
                           {"stochrsi14", -1, 1},
                           {"cci20", -10.0f / 3, 10.0f / 3},
                           {"mfi14", -1, 1},
                           {"ultosc", -1, 1},
                           {"rv_ratio", -100, 0.8958798f},
                           {"boll_pctb20", -0.5898f, 1.5898f},
                           {"vol_ratio20", -100, 2.9957323f},
                           {"vol_z20", -4.3589f, 4.3589f},
                           {"obv20", -1, 1},
                           {"cmf20", -1, 1},
                           {"donchian20", -1, 1},
                           {"eff_ratio10", -1, 1}};
  const FeatureRows rows = Compute(RandomBars(12, 3, 2000));
  for (const Range& range : kRanges) {
    size_t column = 0;
    while (FeatureNames()[column] != range.name) ++column;
    for (size_t i = column; i < rows.features.size(); i += kFeatureCount) {
      ASSERT_GE(rows.features[i], range.least) << range.name;
      ASSERT_LE(rows.features[i], range.most) << range.name;
    }
  }
}

}  // namespace
}  // namespace vixen::market
