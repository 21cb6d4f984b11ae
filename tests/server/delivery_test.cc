// SPDX-License-Identifier: Apache-2.0
#include "server/stream/delivery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "tests/server/finished_batches.h"

namespace vixen::server {
namespace {

using testing::HasSubstr;

constexpr uint64_t kRun = 9;

class DeliveryTest : public testing::Test {
 protected:
  StreamId Open(const std::string& consumer, const std::string& group = "g",
                std::vector<SequenceRange> held = {}) {
    const auto opened = delivery.Open(
        {.group = group, .consumer = consumer, .held = std::move(held), .wake = [this] {
           ++wakes;
         }});
    EXPECT_TRUE(opened.ok()) << opened.status();
    return opened.ok() ? opened->id : 0;
  }
  void Launch() {
    const auto ticket = delivery.Reserve();
    ASSERT_TRUE(ticket.has_value());
    delivery.Publish(*ticket, MakeFinishedBatch(delivery.next_sequence(), 10));
  }
  Sheet Books(const std::string& group = "g") {
    for (Sheet& sheet : delivery.Sheets()) {
      if (sheet.group == group) return sheet;
    }
    return {};
  }

  std::atomic<int> wakes = 0;
  Delivery delivery{{.run_id = kRun, .retain_batches = 3, .max_credit = 8, .max_groups = 2},
                    nullptr};
};

TEST_F(DeliveryTest, NothingIsLaunchedWithoutCredit) {
  EXPECT_FALSE(delivery.Reserve().has_value());
  const StreamId a = Open("a");
  EXPECT_FALSE(delivery.Reserve().has_value());
  ASSERT_TRUE(delivery.AddCredit(a, 1).ok());
  EXPECT_TRUE(delivery.Reserve().has_value());
  EXPECT_FALSE(delivery.Reserve().has_value());
}

TEST_F(DeliveryTest, ConsumersThatKeepUpHaveEqualSharesFromTheMomentTheyJoin) {
  std::map<StreamId, int> taken;
  const auto take_turns = [&](int launches) {
    for (int i = 0; i < launches; ++i) {
      Launch();
      for (auto& [id, count] : taken) {
        while (const auto outgoing = delivery.Take(id)) {
          ++count;
          ASSERT_TRUE(delivery.Acknowledge(id, kRun, outgoing->batch->sequence()).ok());
          ASSERT_TRUE(delivery.AddCredit(id, 1).ok());
        }
      }
    }
  };
  const auto join = [&](const std::string& consumer) {
    const StreamId id = Open(consumer);
    ASSERT_TRUE(delivery.AddCredit(id, 2).ok());
    taken[id] = 0;
  };
  join("a");
  take_turns(10);
  EXPECT_EQ(taken.begin()->second, 10);
  taken.begin()->second = 0;
  for (const char* consumer : {"b", "c", "d"}) join(consumer);
  take_turns(400);
  for (const auto& [id, count] : taken) EXPECT_EQ(count, 100) << id;
}

TEST_F(DeliveryTest, ABatchGoesToOneConsumerOfEachGroup) {
  const StreamId a = Open("a");
  const StreamId b = Open("b");
  const StreamId other = Open("a", "h");
  for (const StreamId id : {a, b, other}) ASSERT_TRUE(delivery.AddCredit(id, 1).ok());
  Launch();
  EXPECT_EQ(delivery.Take(a).has_value() + delivery.Take(b).has_value(), 1);
  EXPECT_TRUE(delivery.Take(other).has_value());
}

TEST_F(DeliveryTest, AGroupWithoutCreditIsNotOfferedTheBatch) {
  const StreamId a = Open("a");
  Open("idle", "h");
  ASSERT_TRUE(delivery.AddCredit(a, 1).ok());
  Launch();
  EXPECT_EQ(Books("h").not_offered, (Tally{1, 10}));
  EXPECT_EQ(Books("h").offered, (Tally{0, 0}));
  EXPECT_EQ(Books("g").offered, (Tally{1, 10}));
}

TEST_F(DeliveryTest, AnUnacknowledgedBatchIsSentAgainAfterReconnecting) {
  StreamId a = Open("a");
  ASSERT_TRUE(delivery.AddCredit(a, 2).ok());
  Launch();
  ASSERT_EQ(delivery.Take(a)->delivery, 1u);
  delivery.Close(a);
  EXPECT_EQ(Books().retained, (Tally{1, 10}));
  a = Open("a");
  EXPECT_FALSE(delivery.Take(a).has_value()) << "a resend uses a credit";
  ASSERT_TRUE(delivery.AddCredit(a, 1).ok());
  const auto again = delivery.Take(a);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->batch->sequence(), 0u);
  EXPECT_EQ(again->delivery, 2u);
}

TEST_F(DeliveryTest, ABatchWhoseReserverDiedWaitsForTheGroup) {
  const StreamId a = Open("a");
  ASSERT_TRUE(delivery.AddCredit(a, 1).ok());
  const auto ticket = delivery.Reserve();
  ASSERT_TRUE(ticket.has_value());
  delivery.Close(a);
  delivery.Publish(*ticket, MakeFinishedBatch(0, 10));
  EXPECT_EQ(Books().retained, (Tally{1, 10}));
  const StreamId b = Open("b");
  ASSERT_TRUE(delivery.AddCredit(b, 1).ok());
  EXPECT_EQ(delivery.Take(b)->delivery, 1u);
}

TEST_F(DeliveryTest, AcknowledgingIsIdempotentAndWhatWasNeverSentIsNotFound) {
  const StreamId a = Open("a");
  ASSERT_TRUE(delivery.AddCredit(a, 1).ok());
  Launch();
  const absl::Status unsent = delivery.Acknowledge(a, kRun, 0);
  EXPECT_EQ(unsent.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unsent.message()), HasSubstr("batch 0"));
  ASSERT_TRUE(delivery.Take(a).has_value());
  EXPECT_EQ(delivery.Acknowledge(a, kRun + 1, 0).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(delivery.Acknowledge(a, kRun, 5).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(delivery.Acknowledge(a, kRun, 0).ok());
  EXPECT_TRUE(delivery.Acknowledge(a, kRun, 0).ok());
  EXPECT_EQ(Books().acknowledged, (Tally{1, 10}));
}

TEST_F(DeliveryTest, WhatAReturningConsumerDoesNotHoldIsLostWithIt) {
  StreamId a = Open("a");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(delivery.AddCredit(a, 1).ok());
    Launch();
    ASSERT_TRUE(delivery.Take(a).has_value());
    ASSERT_TRUE(delivery.Acknowledge(a, kRun, static_cast<uint64_t>(i)).ok());
  }
  ASSERT_TRUE(delivery.MarkDurable(a, kRun, {{0, 0}}).ok());
  delivery.Close(a);
  a = Open("a", "g", {{1, 1}});
  EXPECT_EQ(Books().durable, (Tally{1, 10}));
  EXPECT_EQ(Books().acknowledged, (Tally{1, 10}));
  EXPECT_EQ(Books().dropped_lost, (Tally{1, 10}));
  ASSERT_TRUE(delivery.AddCredit(a, 1).ok());
  EXPECT_FALSE(delivery.Take(a).has_value()) << "lost rows are not sent again";
}

TEST_F(DeliveryTest, TheOldestWaitingBatchIsDroppedAboveTheBound) {
  const StreamId a = Open("a");
  ASSERT_TRUE(delivery.AddCredit(a, 4).ok());
  for (int i = 0; i < 4; ++i) {
    Launch();
    ASSERT_TRUE(delivery.Take(a).has_value());
  }
  EXPECT_EQ(Books().in_flight, (Tally{4, 40}));
  delivery.Close(a);
  EXPECT_EQ(Books().dropped_overflow, (Tally{1, 10}));
  EXPECT_EQ(Books().retained, (Tally{3, 30}));
}

TEST_F(DeliveryTest, CreditIsAPromiseAlsoWhenNothingIsAcknowledged) {
  const StreamId a = Open("a");
  ASSERT_TRUE(delivery.AddCredit(a, 8).ok());
  for (uint64_t i = 0; i < 8; ++i) {
    Launch();
    ASSERT_EQ(delivery.Take(a)->batch->sequence(), i);
  }
  EXPECT_TRUE(delivery.Acknowledge(a, kRun, 0).ok());
  EXPECT_EQ(Books().in_flight.batches, 7u);
}

TEST_F(DeliveryTest, ASlowStreamHoldsNoMoreThanTheBound) {
  const StreamId a = Open("a");
  ASSERT_TRUE(delivery.AddCredit(a, 8).ok());
  for (int i = 0; i < 3; ++i) Launch();
  EXPECT_FALSE(delivery.Reserve().has_value());
  ASSERT_TRUE(delivery.Take(a).has_value());
  EXPECT_TRUE(delivery.Reserve().has_value());
}

TEST_F(DeliveryTest, WhatASlowGroupCannotTakeIsDroppedAndCountedWhileOthersGoOn) {
  const StreamId slow = Open("slow");
  const StreamId quick = Open("quick", "h");
  ASSERT_TRUE(delivery.AddCredit(slow, 8).ok());
  for (uint64_t sequence = 0; sequence < 5; ++sequence) {
    ASSERT_TRUE(delivery.AddCredit(quick, 1).ok());
    Launch();
    ASSERT_TRUE(delivery.Take(quick).has_value());
    ASSERT_TRUE(delivery.Acknowledge(quick, kRun, sequence).ok());
  }
  EXPECT_EQ(Books("h").acknowledged, (Tally{5, 50}));
  EXPECT_EQ(Books().offered, (Tally{5, 50}));
  EXPECT_EQ(Books().retained, (Tally{3, 30}));
  EXPECT_EQ(Books().dropped_slow, (Tally{2, 20}));
  EXPECT_EQ(delivery.Acknowledge(slow, kRun, 4).code(), absl::StatusCode::kNotFound);
  // Its credit was not used up by what it was not given.
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(delivery.Take(slow).has_value());
  EXPECT_TRUE(delivery.CanReserve());
}

TEST_F(DeliveryTest, ADiscardedLaunchGivesItsCreditBackAndUsesNoSequence) {
  const StreamId a = Open("a");
  ASSERT_TRUE(delivery.AddCredit(a, 1).ok());
  const auto ticket = delivery.Reserve();
  delivery.Discard(*ticket);
  EXPECT_EQ(delivery.next_sequence(), 0u);
  Launch();
  EXPECT_EQ(delivery.Take(a)->batch->sequence(), 0u);
}

TEST_F(DeliveryTest, StoppingCreditStillBringsWhatWasReserved) {
  const StreamId a = Open("a");
  ASSERT_TRUE(delivery.AddCredit(a, 3).ok());
  const auto ticket = delivery.Reserve();
  delivery.StopCredit(a);
  EXPECT_FALSE(delivery.Reserve().has_value());
  EXPECT_FALSE(delivery.Idle(a));
  delivery.Publish(*ticket, MakeFinishedBatch(0));
  EXPECT_FALSE(delivery.Idle(a));
  EXPECT_TRUE(delivery.Take(a).has_value());
  EXPECT_TRUE(delivery.Idle(a));
}

TEST_F(DeliveryTest, CreditOutsideItsBoundsIsRefused) {
  const StreamId a = Open("a");
  for (const int64_t n : {int64_t{0}, int64_t{-1}, int64_t{9}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(delivery.AddCredit(a, n).code(), absl::StatusCode::kInvalidArgument) << n;
  }
  EXPECT_FALSE(delivery.HasCredit());
  ASSERT_TRUE(delivery.AddCredit(a, 8).ok());
  EXPECT_EQ(delivery.AddCredit(a, INT64_MAX).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(DeliveryTest, ALiveConsumerNameAndAGroupTooManyAreRefused) {
  Open("a");
  EXPECT_EQ(delivery.Open({.group = "g", .consumer = "a"}).status().code(),
            absl::StatusCode::kAlreadyExists);
  Open("a", "h");
  EXPECT_EQ(delivery.Open({.group = "third", .consumer = "a"}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(DeliveryTest, TheGroupLongestWithoutAStreamMakesRoomAndItsBooksGoOn) {
  const StreamId first = Open("a", "first");
  ASSERT_TRUE(delivery.AddCredit(first, 3).ok());
  for (int i = 0; i < 3; ++i) Launch();
  ASSERT_TRUE(delivery.Take(first).has_value());
  ASSERT_TRUE(delivery.Acknowledge(first, kRun, 0).ok());
  delivery.Close(Open("a", "second"));
  delivery.Close(first);
  const StreamId third = Open("a", "third");
  EXPECT_EQ(Books("first").offered, (Tally{0, 0}));
  const Sheet forgotten = Books(kForgottenGroups);
  EXPECT_EQ(forgotten.offered, (Tally{3, 30}));
  EXPECT_EQ(forgotten.acknowledged, (Tally{1, 10}));
  EXPECT_EQ(forgotten.dropped_overflow, (Tally{2, 20}));
  // It may come back, as a new group.
  ASSERT_TRUE(delivery.AddCredit(third, 1).ok());
  const auto ticket = delivery.Reserve();
  ASSERT_TRUE(ticket.has_value());
  delivery.Close(third);
  const StreamId again = Open("a", "first", {{0, 2}});
  EXPECT_EQ(Books("second").group, "");
  delivery.Publish(*ticket, MakeFinishedBatch(3, 10));
  EXPECT_EQ(Books("third").retained, (Tally{1, 10}));
  EXPECT_EQ(Books("first").not_offered, (Tally{1, 10}));
  EXPECT_EQ(delivery.Acknowledge(again, kRun, 0).code(), absl::StatusCode::kNotFound);
}

TEST_F(DeliveryTest, AForgottenGroupComesBackWithWhatItMadeDurable) {
  const auto come_back = [&](std::vector<SequenceRange> durable) {
    return delivery.Open(
        {.group = "first", .consumer = "a", .durable = std::move(durable), .wake = [] {}});
  };
  const StreamId first = Open("a", "first");
  ASSERT_TRUE(delivery.AddCredit(first, 2).ok());
  Launch();
  Launch();
  ASSERT_TRUE(delivery.Take(first).has_value());
  delivery.Close(first);
  Open("a", "second");
  const StreamId third = Open("a", "third");
  delivery.Close(third);
  ASSERT_EQ(Books("first").group, "");

  // What was never made is refused as ever.
  EXPECT_EQ(come_back({{0, 0}, {2, 2}}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(come_back({{0, 2}}).status().code(), absl::StatusCode::kNotFound);
  auto again = come_back({{0, 0}});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->next_sequence, 2u);
  EXPECT_EQ(Books("first").offered, (Tally{0, 0}));
  EXPECT_EQ(Books("first").durable, (Tally{0, 0}));

  // Also later: its next checkpoint still lists the time before.
  ASSERT_TRUE(delivery.AddCredit(again->id, 1).ok());
  Launch();
  EXPECT_EQ(delivery.MarkDurable(again->id, kRun, {{0, 2}}).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(delivery.Take(again->id).has_value());
  EXPECT_TRUE(delivery.MarkDurable(again->id, kRun, {{0, 0}, {1, 2}}).ok());
  EXPECT_EQ(Books("first").durable, (Tally{1, 10}));
  delivery.Close(again->id);
  again = come_back({{0, 2}});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Books("first").durable, (Tally{1, 10}));
}

TEST_F(DeliveryTest, WhereNoGroupWasForgottenWhatAGroupNeverGotIsNotDurable) {
  const StreamId first = Open("a", "first");
  ASSERT_TRUE(delivery.AddCredit(first, 1).ok());
  Launch();
  EXPECT_EQ(delivery.Open({.group = "second", .consumer = "a", .durable = {{0, 0}}, .wake = [] {}})
                .status()
                .code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(Books("second").group, "");
}

TEST_F(DeliveryTest, ALaunchForAGroupThatIsForgottenMeanwhileEndsInNoBooks) {
  const StreamId first = Open("a", "first");
  ASSERT_TRUE(delivery.AddCredit(first, 2).ok());
  const auto discarded = delivery.Reserve();
  const auto published = delivery.Reserve();
  ASSERT_TRUE(discarded.has_value() && published.has_value());
  delivery.Close(first);
  Open("a", "second");
  Open("a", "third");
  delivery.Discard(*discarded);
  delivery.Publish(*published, MakeFinishedBatch(0, 10));
  EXPECT_EQ(Books(kForgottenGroups).offered, (Tally{0, 0}));
  EXPECT_EQ(Books("third").not_offered, (Tally{1, 10}));
}

TEST_F(DeliveryTest, AGroupThatMadeBatchesDurableIsNotForgotten) {
  for (const char* group : {"first", "second"}) {
    const StreamId id = Open("a", group);
    ASSERT_TRUE(delivery.AddCredit(id, 1).ok());
    Launch();
    const auto sequence = delivery.Take(id)->batch->sequence();
    ASSERT_TRUE(delivery.MarkDurable(id, kRun, {{sequence, sequence}}).ok());
    delivery.Close(id);
  }
  EXPECT_EQ(delivery.Open({.group = "third", .consumer = "a"}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(DeliveryTest, RangesThatOverlapOrHoldWhatWasNeverSentChangeNothing) {
  const StreamId a = Open("a");
  ASSERT_TRUE(delivery.AddCredit(a, 1).ok());
  Launch();
  ASSERT_TRUE(delivery.Take(a).has_value());
  EXPECT_EQ(delivery.MarkDurable(a, kRun, {{0, 0}, {0, 0}}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(delivery.MarkDurable(a, kRun, {{0, UINT64_MAX}}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Books().in_flight, (Tally{1, 10}));
  EXPECT_TRUE(delivery.MarkDurable(a, kRun, {{0, 0}}).ok());
  EXPECT_EQ(Books().durable, (Tally{1, 10}));
}

TEST(Delivery, TheFaultMiscountShowsWhereEveryBatchIsDurableToo) {
  Delivery delivery{{.run_id = kRun, .miscount = true}, nullptr};
  const auto opened = delivery.Open({.group = "g", .consumer = "a", .wake = [] {}});
  ASSERT_TRUE(opened.ok()) << opened.status();
  ASSERT_TRUE(delivery.AddCredit(opened->id, 1).ok());
  const auto ticket = delivery.Reserve();
  ASSERT_TRUE(ticket.has_value());
  delivery.Publish(*ticket, MakeFinishedBatch(0, 10));
  ASSERT_TRUE(delivery.Take(opened->id).has_value());
  ASSERT_TRUE(delivery.Acknowledge(opened->id, kRun, 0).ok());
  EXPECT_EQ(delivery.Sheets().front().acknowledged, (Tally{0, 10}));
  ASSERT_TRUE(delivery.MarkDurable(opened->id, kRun, {{0, 0}}).ok());
  EXPECT_EQ(delivery.Sheets().front().acknowledged, (Tally{0, 0}));
  EXPECT_EQ(delivery.Sheets().front().durable, (Tally{0, 10}));
}

TEST_F(DeliveryTest, TheLedgerStaysSmallHoweverManyBatchesPass) {
  SequenceLedger ledger(0);
  for (uint64_t i = 0; i < 100'000; ++i) {
    ledger.Append({.place = Place::kRetained, .rows = 64});
    ledger.Set(i, {.place = Place::kAcknowledged, .sent = true, .consumer = 1, .rows = 64});
  }
  EXPECT_EQ(ledger.runs(), 1u);
  EXPECT_EQ(ledger.tally(Place::kAcknowledged), (Tally{100'000, 6'400'000}));
}

TEST_F(DeliveryTest, WhatIsDurableCostsNoMemoryWhoeverTookItAndHoweverManyRowsItHas) {
  SequenceLedger ledger(0);
  for (uint64_t i = 0; i < 10'000; ++i) {
    ledger.Append({.place = Place::kRetained, .rows = 1 + i % 7});
    SequenceRecord record = *ledger.Find(i);
    record = {.place = Place::kAcknowledged,
              .sent = true,
              .consumer = 1 + static_cast<uint32_t>(i % 3),
              .rows = record.rows};
    ledger.Set(i, record);
  }
  const Tally before = ledger.tally(Place::kAcknowledged);
  EXPECT_EQ(ledger.runs(), 10'000u);
  ledger.Update(0, 9'999, [](SequenceRecord record) {
    record.place = Place::kDurable;
    return record;
  });
  EXPECT_EQ(ledger.runs(), 1u);
  EXPECT_EQ(ledger.tally(Place::kDurable), before);
  EXPECT_EQ(ledger.tally(Place::kAcknowledged), (Tally{0, 0}));
  EXPECT_EQ(ledger.offered(), before);
}

TEST_F(DeliveryTest, ThreadsOnBothSidesKeepTheBooksExact) {
  constexpr uint64_t kBatches = 400;
  std::atomic<bool> done = false;
  std::thread collector([&] {
    while (delivery.next_sequence() < kBatches) {
      const auto ticket = delivery.Reserve();
      if (!ticket) {
        std::this_thread::yield();
        continue;
      }
      delivery.Publish(*ticket, MakeFinishedBatch(delivery.next_sequence(), 2));
    }
    done = true;
  });
  const auto consume = [&](const std::string& name) {
    StreamId id = Open(name);
    for (int i = 1; !done; ++i) {
      (void)delivery.AddCredit(id, 1);
      if (const auto outgoing = delivery.Take(id)) {
        EXPECT_TRUE(delivery.Acknowledge(id, kRun, outgoing->batch->sequence()).ok());
      } else {
        std::this_thread::yield();
      }
      if (i % 97 == 0) {
        delivery.Close(id);
        id = Open(name, "g", {{0, UINT64_MAX}});
      }
    }
    delivery.Close(id);
  };
  std::thread first(consume, "first");
  std::thread second(consume, "second");
  collector.join();
  first.join();
  second.join();
  const Sheet books = Books();
  EXPECT_EQ(books.offered, (Tally{kBatches, 2 * kBatches}));
  EXPECT_EQ(books.offered.rows, books.acknowledged.rows + books.in_flight.rows +
                                    books.retained.rows + books.dropped_overflow.rows);
}

TEST_F(DeliveryTest, AReturningConsumerHearsWhatWasLostUnderItsNameSoFar) {
  StreamId a = Open("a");
  const StreamId b = Open("b");
  const auto receive = [&](StreamId id) {
    ASSERT_TRUE(delivery.AddCredit(id, 1).ok());
    Launch();
    const auto taken = delivery.Take(id);
    ASSERT_TRUE(taken.has_value());
    ASSERT_TRUE(delivery.Acknowledge(id, kRun, taken->batch->sequence()).ok());
  };
  for (int i = 0; i < 3; ++i) receive(a);  // 0, 1, 2
  receive(b);                              // 3
  delivery.Close(a);
  auto opened = delivery.Open({.group = "g", .consumer = "a", .held = {{0, 0}}});
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->lost, (Tally{2, 20}));
  receive(opened->id);  // 4
  delivery.Close(opened->id);
  opened = delivery.Open({.group = "g", .consumer = "a"});
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened->lost, (Tally{4, 40}));
  const auto other = delivery.Open({.group = "g", .consumer = "c"});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->lost, Tally());
  EXPECT_EQ(Books().dropped_lost, (Tally{4, 40}));
  EXPECT_EQ(Books().acknowledged, (Tally{1, 10}));
}

}  // namespace
}  // namespace vixen::server
