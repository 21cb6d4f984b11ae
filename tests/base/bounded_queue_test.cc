// SPDX-License-Identifier: Apache-2.0
#include "base/bounded_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace vixen::base {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(BoundedQueue, GivesItemsBackInOrder) {
  BoundedQueue<int> queue(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.Push(i));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(queue.Pop(), i);
}

TEST(BoundedQueue, TryPushLeavesTheItemWhenFull) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  auto first = std::make_unique<int>(1);
  auto second = std::make_unique<int>(2);
  EXPECT_TRUE(queue.TryPush(first));
  EXPECT_FALSE(queue.TryPush(second));
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(**queue.Pop(), 1);
  EXPECT_TRUE(queue.TryPush(second));
}

TEST(BoundedQueue, PopForGivesUpOnAnEmptyQueue) {
  BoundedQueue<int> queue(1);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(queue.PopFor(milliseconds(5)), std::nullopt);
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(5));
  EXPECT_FALSE(queue.closed());
}

TEST(BoundedQueue, CloseWakesAProducerThatWaitsForRoom) {
  BoundedQueue<int> queue(1);
  ASSERT_TRUE(queue.Push(1));
  std::atomic<bool> pushed{true};
  std::thread producer([&] { pushed = queue.Push(2); });
  queue.Close();
  producer.join();
  EXPECT_FALSE(pushed);
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueue, CloseWakesEveryConsumer) {
  BoundedQueue<int> queue(1);
  std::atomic<int> ended{0};
  std::vector<std::thread> consumers;
  for (int i = 0; i < 4; ++i) {
    consumers.emplace_back([&] {
      if (!queue.Pop().has_value() && !queue.PopFor(seconds(60)).has_value()) ++ended;
    });
  }
  queue.Close();
  for (std::thread& consumer : consumers) consumer.join();
  EXPECT_EQ(ended, 4);
}

TEST(BoundedQueue, TakesNothingInOnceClosed) {
  BoundedQueue<int> queue(2);
  queue.Close();
  int item = 1;
  EXPECT_FALSE(queue.Push(1));
  EXPECT_FALSE(queue.TryPush(item));
  EXPECT_EQ(queue.size(), 0u);
}

TEST(BoundedQueue, HandsEveryItemToOneConsumerAndNeverHoldsMoreThanItsCapacity) {
  constexpr int kProducers = 3;
  constexpr int kConsumers = 3;
  constexpr int kItems = 5'000;  // each
  constexpr size_t kCapacity = 4;
  BoundedQueue<int> queue(kCapacity);
  std::atomic<size_t> most{0};
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&, p] {
      for (int i = 0; i < kItems; ++i) {
        ASSERT_TRUE(queue.Push(p * kItems + i));
        const size_t size = queue.size();
        for (size_t seen = most; size > seen && !most.compare_exchange_weak(seen, size);) {
        }
      }
    });
  }
  std::vector<std::vector<int>> taken(kConsumers);
  std::vector<std::thread> consumers;
  for (int c = 0; c < kConsumers; ++c) {
    consumers.emplace_back([&, c] {
      while (auto item = queue.Pop()) taken[c].push_back(*item);
    });
  }
  for (std::thread& producer : producers) producer.join();
  queue.Close();
  for (std::thread& consumer : consumers) consumer.join();

  std::vector<int> all;
  for (const auto& part : taken) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  std::vector<int> expected(kProducers * kItems);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
  EXPECT_LE(most, kCapacity);
}

}  // namespace
}  // namespace vixen::base
