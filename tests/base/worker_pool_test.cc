// SPDX-License-Identifier: Apache-2.0
#include "base/worker_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace vixen::base {
namespace {

class WorkerPoolThreads : public ::testing::TestWithParam<int> {};

TEST_P(WorkerPoolThreads, RunsEachPieceOnceOnAThreadOfItsOwn) {
  WorkerPool pool(GetParam());
  EXPECT_EQ(pool.threads(), GetParam());
  for (int64_t pieces : {0, 1, 2, 7, 8, 1'000}) {
    std::vector<std::atomic<int>> runs(pieces);
    std::vector<std::atomic<int>> busy(pool.threads());
    std::atomic<bool> shared{false};
    pool.ParallelFor(pieces, [&](int64_t piece, int thread) {
      if (busy.at(thread).fetch_add(1) != 0) shared = true;
      runs.at(piece).fetch_add(1);
      busy.at(thread).fetch_sub(1);
    });
    for (int64_t piece = 0; piece < pieces; ++piece) {
      EXPECT_EQ(runs[piece], 1) << "piece " << piece << " of " << pieces;
    }
    EXPECT_FALSE(shared) << "two pieces ran as the same thread at once";
  }
}

TEST_P(WorkerPoolThreads, ServesLoopAfterLoop) {
  WorkerPool pool(GetParam());
  // Plain memory: what a loop wrote must be visible to its caller and to the next loop.
  std::vector<int64_t> values(16, 0);
  for (int loop = 0; loop < 500; ++loop) {
    pool.ParallelFor(values.size(), [&](int64_t piece, int) { values[piece] += piece; });
  }
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], static_cast<int64_t>(500 * i));
}

TEST_P(WorkerPoolThreads, AcceptsAnEmptyLoopInsideALoop) {
  WorkerPool pool(GetParam());
  std::atomic<int> outer{0};
  std::atomic<int> inner{0};
  pool.ParallelFor(5, [&](int64_t, int) {
    ++outer;
    pool.ParallelFor(0, [&](int64_t, int) { ++inner; });
  });
  EXPECT_EQ(outer, 5);
  EXPECT_EQ(inner, 0);
}

TEST_P(WorkerPoolThreads, LetsCallersTakeTurns) {
  WorkerPool pool(GetParam());
  constexpr int kCallers = 3;
  std::array<std::atomic<int>, kCallers> inside{};  // pieces of each caller that run now
  std::atomic<bool> mixed{false};
  std::atomic<int> pieces{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      for (int loop = 0; loop < 50; ++loop) {
        pool.ParallelFor(4, [&](int64_t, int) {
          ++inside[caller];
          for (int other = 0; other < kCallers; ++other) {
            if (other != caller && inside[other] != 0) mixed = true;
          }
          ++pieces;
          --inside[caller];
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(pieces, kCallers * 50 * 4);
  EXPECT_FALSE(mixed);
}

INSTANTIATE_TEST_SUITE_P(Threads, WorkerPoolThreads, ::testing::Values(1, 2, 7));

TEST(WorkerPool, CountsTheCallerAsItsOnlyThreadWhenAskedForNone) {
  WorkerPool pool(0);
  EXPECT_EQ(pool.threads(), 1);
  int runs = 0;
  pool.ParallelFor(3, [&](int64_t, int thread) { runs += thread == 0; });
  EXPECT_EQ(runs, 3);
}

}  // namespace
}  // namespace vixen::base
