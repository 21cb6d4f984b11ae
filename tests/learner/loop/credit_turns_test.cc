// SPDX-License-Identifier: Apache-2.0
#include "learner/loop/credit_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "learner/replay/rate_limiter.h"

namespace vixen::learner {
namespace {

using ::testing::ElementsAre;

TEST(CreditTurns, GivesEqualActorsEqualShares) {
  CreditTurns turns;
  const std::vector<CreditRoom> actors(3, {.ready = true, .most = 64});
  std::vector<int64_t> sum(3, 0);
  for (int i = 0; i < 99; ++i) {
    const std::vector<int64_t> grants = turns.Share(1, actors);
    for (size_t actor = 0; actor < 3; ++actor) sum[actor] += grants[actor];
  }
  EXPECT_THAT(sum, ElementsAre(33, 33, 33));
  EXPECT_THAT(turns.Share(7, actors), ElementsAre(3, 2, 2));
}

TEST(CreditTurns, GivesToThoseThatHaveTheFewest) {
  CreditTurns turns;
  const std::vector<CreditRoom> actors = {{.ready = true, .outstanding = 5, .most = 64},
                                          {.ready = true, .outstanding = 0, .most = 64},
                                          {.ready = true, .outstanding = 2, .most = 64}};
  EXPECT_THAT(turns.Share(4, actors), ElementsAre(0, 3, 1));
}

TEST(CreditTurns, GivesNobodyMoreThanItMayHaveAndNothingToThoseThatAreNotReady) {
  CreditTurns turns;
  const std::vector<CreditRoom> actors = {{.ready = true, .outstanding = 3, .most = 4},
                                          {.ready = false, .most = 64},
                                          {.ready = true, .outstanding = 9, .most = 4},
                                          {.ready = true, .most = 2}};
  EXPECT_THAT(turns.Share(100, actors), ElementsAre(1, 0, 0, 2));
  EXPECT_THAT(turns.Share(5, {}), ElementsAre());
}

// Four actors of which one takes credit and never answers, with the tightest window that there is
// room for two launches in: the limiter's credit does not end up with that one.
TEST(CreditTurns, AnActorThatStandsStillHoldsUpNobody) {
  constexpr size_t kActors = 4, kFrozen = 2;
  RateLimiter limiter = *RateLimiter::Create(
      {.min_size = 1, .samples_per_insert = 4, .launch_rows = 100, .batch = 50});
  CreditTurns turns;
  std::vector<CreditRoom> actors(kActors, {.ready = true, .most = 64});
  std::vector<int64_t> received(kActors, 0);
  for (int step = 0; step < 3000; ++step) {
    const auto held = std::accumulate(
        actors.begin(), actors.end(), int64_t{0},
        [](int64_t sum, const CreditRoom& actor) { return sum + actor.outstanding; });
    const auto allowed = static_cast<int64_t>(limiter.LaunchesAllowed(0));
    const std::vector<int64_t> grants = turns.Share(allowed - held, actors);
    for (size_t i = 0; i < kActors; ++i) actors[i].outstanding += grants[i];
    const size_t next = static_cast<size_t>(step) % kActors;
    if (next != kFrozen && actors[next].outstanding > 0) {
      --actors[next].outstanding;
      ++received[next];
      limiter.Inserted(100);
    }
    while (limiter.CanSample()) limiter.Sampled(50);
  }
  for (size_t i = 0; i < kActors; ++i) {
    if (i == kFrozen) continue;
    EXPECT_GT(received[i], 500) << i;
  }
  EXPECT_LE(actors[kFrozen].outstanding, 2);
}

}  // namespace
}  // namespace vixen::learner
