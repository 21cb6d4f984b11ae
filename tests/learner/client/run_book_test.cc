// SPDX-License-Identifier: Apache-2.0
#include "learner/client/run_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace vixen::learner {
namespace {

using testing::Pair;

TEST(SequenceSet, JoinsNeighbours) {
  SequenceSet set;
  EXPECT_TRUE(set.Insert(3));
  EXPECT_TRUE(set.Insert(5));
  EXPECT_THAT(set.ranges(), testing::ElementsAre(Pair(3, 3), Pair(5, 5)));
  EXPECT_TRUE(set.Insert(4));
  EXPECT_THAT(set.ranges(), testing::ElementsAre(Pair(3, 5)));
  EXPECT_FALSE(set.Insert(4));
}

TEST(SequenceSet, AgreesWithASetInAnyOrder) {
  std::mt19937_64 random(4);
  SequenceSet set;
  std::set<uint64_t> model;
  for (int i = 0; i < 5000; ++i) {
    const uint64_t sequence = random() % 3000;
    ASSERT_EQ(set.Insert(sequence), model.insert(sequence).second);
  }
  uint64_t covered = 0;
  for (const auto& [first, last] : set.ranges()) covered += last - first + 1;
  EXPECT_EQ(covered, model.size());
  for (uint64_t s = 0; s < 3001; ++s) ASSERT_EQ(set.Contains(s), model.count(s) == 1);
}

TEST(SequenceSet, HoldsTheLargestNumbers) {
  SequenceSet set;
  const uint64_t most = ~uint64_t{0};
  EXPECT_TRUE(set.Insert(most));
  EXPECT_TRUE(set.Insert(most - 1));
  EXPECT_FALSE(set.Insert(most));
  EXPECT_FALSE(set.Contains(0));
}

void ExpectBalanced(const v1::LearnerSheet& sheet) {
  uint64_t rows = sheet.inserted().rows() + sheet.duplicate().rows();
  uint64_t batches = sheet.inserted().batches() + sheet.duplicate().batches();
  for (const auto& [reason, amount] : sheet.rejected()) {
    rows += amount.rows();
    batches += amount.batches();
  }
  EXPECT_EQ(sheet.received().rows(), rows);
  EXPECT_EQ(sheet.received().batches(), batches);
}

TEST(RunBook, BalancesWhileAnInsertIsUnderWay) {
  RunBook book("p", "g");
  book.RunOpened("a", 7);
  ASSERT_TRUE(book.Receive(7, 0, 10));
  EXPECT_EQ(book.Sheets()[0].received().rows(), 0u);
  EXPECT_TRUE(book.Holds(7, 0)) << "no second copy is taken meanwhile";
  book.Inserted(7, 9, {{"non_finite", 1}});
  const v1::LearnerSheet sheet = book.Sheets()[0];
  EXPECT_EQ(sheet.received().rows(), 10u);
  EXPECT_EQ(sheet.inserted().rows() + sheet.rejected().at("non_finite").rows(), 10u);
}

TEST(RunBook, TakesABatchOnceAndCountsWhatComesAgain) {
  RunBook book("default", "learner");
  book.RunOpened("a:1", 7);
  EXPECT_TRUE(book.Receive(7, 0, 100));
  book.Inserted(7, 100, {});
  EXPECT_FALSE(book.Receive(7, 0, 100));
  EXPECT_TRUE(book.Receive(7, 1, 50));
  book.Inserted(7, 48, {{"non_finite", 2}, {"out_of_range", 0}});
  const std::vector<v1::LearnerSheet> sheets = book.Sheets();
  ASSERT_EQ(sheets.size(), 1u);
  EXPECT_EQ(sheets[0].received().batches(), 3u);
  EXPECT_EQ(sheets[0].inserted().rows(), 148u);
  EXPECT_EQ(sheets[0].duplicate().rows(), 100u);
  EXPECT_EQ(sheets[0].rejected().at("non_finite").rows(), 2u);
  EXPECT_EQ(sheets[0].rejected().count("out_of_range"), 0u);
  ExpectBalanced(sheets[0]);
}

TEST(RunBook, CountsABatchOfWhichNothingWasTakenAsRejected) {
  RunBook book("default", "learner");
  book.RunOpened("a:1", 7);
  ASSERT_TRUE(book.Receive(7, 0, 3));
  book.Inserted(7, 0, {{"non_finite", 2}, {"out_of_range", 1}});
  const v1::LearnerSheet sheet = book.Sheets().at(0);
  EXPECT_EQ(sheet.inserted().batches(), 0u);
  ExpectBalanced(sheet);
}

TEST(RunBook, KeepsTheSameSequenceOfTwoRunsApart) {
  RunBook book("default", "learner");
  book.RunOpened("a:1", 7);
  EXPECT_TRUE(book.Receive(7, 0, 1));
  book.RunOpened("a:1", 8);
  EXPECT_TRUE(book.Receive(8, 0, 1));
}

TEST(RunBook, ReportsARunAsEndedWhenItsActorBeginsAnother) {
  RunBook book("default", "learner");
  book.RunOpened("a:1", 7);
  book.RunOpened("b:1", 9);
  book.RunOpened("a:1", 8);
  for (const v1::LearnerSheet& sheet : book.Sheets()) {
    EXPECT_EQ(sheet.ended(), sheet.run_id() == 7) << sheet.run_id();
  }
}

TEST(RunBook, TellsAReturningStreamWhatItHolds) {
  RunBook book("default", "learner");
  book.RunOpened("a:1", 7);
  for (uint64_t sequence : {0, 1, 2, 5}) book.Receive(7, sequence, 1);
  book.RunOpened("b:1", 9);
  book.Receive(9, 4, 1);
  const v1::RunRanges held = book.Held(7);
  EXPECT_EQ(held.run_id(), 7u);
  ASSERT_EQ(held.ranges_size(), 2);
  EXPECT_EQ(held.ranges(0).last(), 2u);
  EXPECT_EQ(held.ranges(1).first(), 5u);
  EXPECT_EQ(book.Held(8).ranges_size(), 0);
}

TEST(RunBook, GoesOnFromACheckpointWithWhatThatHoldsDurable) {
  RunBook book("default", "learner");
  book.RunOpened("a:1", 7);
  for (uint64_t sequence : {0, 1, 4}) {
    ASSERT_TRUE(book.Receive(7, sequence, 10));
    book.Inserted(7, 9, {{"non_finite", 1}});
  }
  const std::vector<v1::CheckpointRun> saved = book.Save();
  EXPECT_EQ(book.Durable(7).ranges_size(), 0);
  ASSERT_TRUE(book.Receive(7, 5, 10));
  book.Inserted(7, 10, {});

  RunBook again("default", "learner");
  again.Restore(saved);
  EXPECT_TRUE(again.Holds(7, 4));
  EXPECT_FALSE(again.Holds(7, 5));
  v1::Amount lost;
  lost.set_batches(1);
  lost.set_rows(10);
  again.RunOpened("a:1", 7, lost);
  const v1::LearnerSheet sheet = again.Sheets().at(0);
  EXPECT_EQ(sheet.inserted().rows(), 27u);
  EXPECT_EQ(sheet.durable().rows(), 27u);
  EXPECT_EQ(sheet.lost_with_predecessor().rows(), 10u);
  ExpectBalanced(sheet);
  ASSERT_EQ(again.Durable(7).ranges_size(), 2);
  EXPECT_EQ(again.Durable(7).ranges(1).first(), 4u);
  EXPECT_TRUE(again.Receive(7, 2, 10));
  EXPECT_TRUE(again.Receive(7, 3, 10));
  EXPECT_EQ(again.Held(7).ranges_size(), 1);
}

TEST(RunBook, MarksDurableOnlyWhatTheCutHeld) {
  RunBook book("default", "learner");
  book.RunOpened("a:1", 7);
  ASSERT_TRUE(book.Receive(7, 0, 10));
  book.Inserted(7, 10, {});
  const std::vector<v1::CheckpointRun> cut = book.Save();
  ASSERT_TRUE(book.Receive(7, 1, 10));
  book.Inserted(7, 10, {});
  book.MarkDurable(cut);
  EXPECT_EQ(book.Sheets().at(0).durable().batches(), 1u);
  EXPECT_EQ(book.Sheets().at(0).inserted().batches(), 2u);
  EXPECT_EQ(book.Durable(7).ranges(0).last(), 0u);
}

}  // namespace
}  // namespace vixen::learner
