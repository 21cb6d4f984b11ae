// SPDX-License-Identifier: Apache-2.0
#include "market/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "market/segments.h"

namespace vixen::market {
namespace {

using ::testing::ElementsAre;

// A split of rows that are the bars themselves, row by row.
struct SplitRows {
  std::vector<uint64_t> row;
  std::vector<int> last;
  uint64_t train_rows = 0, embargoed = 0, short_parts = 0;
};

SplitRows SplitOf(const std::vector<int64_t>& time, const std::vector<uint8_t>& last,
                  int64_t split_ns, uint64_t embargo) {
  std::vector<RowRange> ranges;
  for (const Segment& segment : SegmentsOf(last)) ranges.push_back({segment.begin, segment.end});
  const SplitRanges split = SplitByTime(time, ranges, split_ns, embargo);
  SplitRows rows{{}, {}, split.train_rows, split.embargoed, split.short_parts};
  for (const RowRange& range : split.ranges) {
    for (uint64_t row = range.begin; row < range.end; ++row) {
      rows.row.push_back(row);
      rows.last.push_back(row + 1 == range.end ? 1 : 0);
    }
  }
  return rows;
}

TEST(Split, EarlierPartsComeFirstAndEachCutIsALastRow) {
  // Two instruments over the same times 1 … 5.
  const std::vector<int64_t> time = {1, 2, 3, 4, 5, 1, 2, 3, 4, 5};
  const std::vector<uint8_t> last = {0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  const SplitRows split = SplitOf(time, last, 4, 0);
  EXPECT_THAT(split.row, ElementsAre(0, 1, 2, 5, 6, 7, 3, 4, 8, 9));
  EXPECT_THAT(split.last, ElementsAre(0, 0, 1, 0, 0, 1, 0, 1, 0, 1));
  EXPECT_EQ(split.train_rows, 6u);
}

TEST(Split, TheEmbargoIsLeftOutAfterACutOnly) {
  const std::vector<int64_t> time = {1, 2, 3, 4, 5, 6, 7, 5, 6, 7};
  const std::vector<uint8_t> last = {0, 0, 0, 0, 0, 0, 1, 0, 0, 1};
  const SplitRows split = SplitOf(time, last, 4, 2);
  EXPECT_THAT(split.row, ElementsAre(0, 1, 2, 5, 6, 7, 8, 9));
  EXPECT_THAT(split.last, ElementsAre(0, 0, 1, 0, 1, 0, 0, 1));
  EXPECT_EQ(split.train_rows, 3u);
  EXPECT_EQ(split.embargoed, 2u);
}

TEST(Split, PartsOfOneRowAreLeftOut) {
  const std::vector<int64_t> time = {1, 2, 3, 3, 4, 5};
  const std::vector<uint8_t> last = {0, 0, 1, 0, 0, 1};
  const SplitRows split = SplitOf(time, last, 3, 0);
  EXPECT_THAT(split.row, ElementsAre(0, 1, 3, 4, 5));
  EXPECT_EQ(split.short_parts, 1u);
  EXPECT_EQ(SplitOf(time, last, 5, 0).short_parts, 1u);
}

TEST(Split, AnEmbargoLongerThanThePartTakesAllOfIt) {
  const std::vector<int64_t> time = {1, 2, 3, 4, 5};
  const std::vector<uint8_t> last = {0, 0, 0, 0, 1};
  const SplitRows split = SplitOf(time, last, 3, 60);
  EXPECT_THAT(split.row, ElementsAre(0, 1));
  EXPECT_EQ(split.embargoed, 3u);
}

std::vector<RowRange> Ranges(std::initializer_list<RowRange> ranges) { return ranges; }

MATCHER_P2(IsRange, begin, end, "") { return arg.begin == begin && arg.end == end; }

TEST(SplitAround, LeavesOutWhatTheLabelsOfEitherSideReach) {
  // Labels of three rows; the block is rows 5 to 7.
  const std::vector<int64_t> time = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const SplitRanges split = SplitAround(time, Ranges({{0, 12}}), 5, 8, 2);
  EXPECT_THAT(split.ranges, ElementsAre(IsRange(0u, 3u), IsRange(10u, 12u), IsRange(5u, 8u)));
  EXPECT_EQ(split.train_rows, 5u);
  EXPECT_EQ(split.embargoed, 4u);
}

// Ten rows, labels of three, rows 3 to 5 tested: 1, 2, 6 and 7 are purged and 0, 8, 9 stay; row 0
// is then a part of one row, which holds no step.
TEST(SplitAround, PurgesThePublishedExample) {
  const std::vector<int64_t> time = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const SplitRanges split = SplitAround(time, Ranges({{0, 10}}), 3, 6, 2);
  EXPECT_THAT(split.ranges, ElementsAre(IsRange(8u, 10u), IsRange(3u, 6u)));
  EXPECT_EQ(split.embargoed, 4u);
  EXPECT_EQ(split.short_parts, 1u);
  EXPECT_EQ(split.train_rows, 2u);
}

TEST(SplitAround, CutsEveryInstrumentByTime) {
  const std::vector<int64_t> time = {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 8, 9};
  const SplitRanges split = SplitAround(time, Ranges({{0, 6}, {6, 10}, {10, 12}}), 3, 5, 0);
  EXPECT_THAT(split.ranges, ElementsAre(IsRange(0u, 2u), IsRange(4u, 6u), IsRange(6u, 8u),
                                        IsRange(10u, 12u), IsRange(2u, 4u), IsRange(8u, 10u)));
  EXPECT_EQ(split.train_rows, 8u);
}

TEST(SplitAround, AnEmbargoLongerThanASideTakesAllOfIt) {
  const std::vector<int64_t> time = {1, 2, 3, 4, 5, 6};
  const SplitRanges split = SplitAround(time, Ranges({{0, 6}}), 3, 5, 9);
  EXPECT_THAT(split.ranges, ElementsAre(IsRange(2u, 4u)));
  EXPECT_EQ(split.train_rows, 0u);
  EXPECT_EQ(split.embargoed, 4u);
}

TEST(SplitAround, ABlockInAGapOfTimeLeavesAllForTraining) {
  const std::vector<int64_t> time = {1, 2, 8, 9};
  const SplitRanges split = SplitAround(time, Ranges({{0, 4}}), 3, 7, 1);
  EXPECT_THAT(split.ranges, ElementsAre(IsRange(0u, 4u)));
  EXPECT_EQ(split.train_rows, 4u);
}

TEST(Split, AShareStandsForTheTimeBeforeWhichSoManyRowsLie) {
  const std::vector<int64_t> time = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_EQ(SplitTimeOfShare(time, 0.8), 9);
  const std::vector<int64_t> interleaved = {10, 30, 50, 70, 20, 40, 60, 80};
  EXPECT_EQ(SplitTimeOfShare(interleaved, 0.5), 50);
}

TEST(Segments, EndBeforeAStepLongerThanTheGap) {
  Bars bars;
  bars.timestamp = {0, 60, 120, 240, 300, 10};
  bars.last = {0, 0, 0, 0, 1, 1};
  EXPECT_EQ(CutAtGaps(60, bars), 1u);
  EXPECT_THAT(bars.last, ElementsAre(0, 0, 1, 0, 1, 1));
  EXPECT_EQ(CutAtGaps(59, bars), 3u);
}

TEST(Segments, AStepWiderThanInt64IsAGap) {
  Bars bars;
  bars.timestamp = {INT64_MIN, INT64_MAX};
  bars.last = {0, 1};
  EXPECT_EQ(CutAtGaps(1'000'000, bars), 1u);
}

}  // namespace
}  // namespace vixen::market
