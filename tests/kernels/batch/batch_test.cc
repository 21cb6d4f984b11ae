// SPDX-License-Identifier: Apache-2.0
#include "kernels/batch/batch.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace vixen::kernels {
namespace {

TEST(Batch, HasFortyTwoBytesARowAndTwentyMoreWithTerms) {
  EXPECT_EQ(Batch(3, 7, false).payload().size(), 21u * 42);
  EXPECT_EQ(Batch(3, 7, true).payload().size(), 21u * 62);
  EXPECT_TRUE(Batch(3, 7, false).Column(ColumnId::kTerms).empty());
  EXPECT_EQ(Batch(3, 7, false).view().terms, nullptr);
  EXPECT_EQ(Batch(3, 7, false).view().q, nullptr);
  EXPECT_EQ(Batch(3, 7, false, true).q().size(), 21u * kActions);
}

TEST(Batch, LaysItsColumnsOneAfterAnotherAlignedForAnyShape) {
  for (const bool with_terms : {false, true}) {
    Batch batch(3, 7, with_terms);
    const std::byte* end = batch.payload().data();
    for (const ColumnSpec& column : kColumns) {
      const std::span<const std::byte> bytes = batch.Column(column.id);
      EXPECT_EQ(bytes.data(), end) << column.name;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % ElementBytes(column.type), 0u)
          << column.name;
      end = bytes.data() + bytes.size();
    }
    EXPECT_EQ(end, batch.payload().data() + batch.payload().size());
  }
}

TEST(Batch, ShowsTheSameMemoryAsViewAndColumn) {
  Batch batch(2, 2, true);
  batch.view().reward[3] = 1.5f;
  batch.view().flags[2] = 7;
  const auto reward = batch.Column(ColumnId::kReward);
  EXPECT_EQ(reinterpret_cast<const float*>(reward.data())[3], 1.5f);
  EXPECT_EQ(batch.MutableColumn(ColumnId::kFlags)[2], std::byte{7});
}

TEST(Columns, StandAtTheirIdsPlace) {
  for (size_t i = 0; i < kColumns.size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(kColumns[i].id), i) << kColumns[i].name;
  }
}

TEST(LaunchStatistics, AddUpAndKeepTheLargestTd) {
  LaunchStatistics a;
  a.valid_rows = 3;
  a.term_sum[2] = 1.5;
  a.td_max = 4;
  LaunchStatistics b;
  b.valid_rows = 2;
  b.term_sum[2] = 2;
  b.td_max = 1;
  a.Add(b);
  EXPECT_EQ(a.valid_rows, 5u);
  EXPECT_EQ(a.term_sum[2], 3.5);
  EXPECT_EQ(a.td_max, 4);
}

}  // namespace
}  // namespace vixen::kernels
