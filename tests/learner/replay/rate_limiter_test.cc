// SPDX-License-Identifier: Apache-2.0
#include "learner/replay/rate_limiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace vixen::learner {
namespace {

TEST(RateLimiter, RefusesAWindowThatNoLaunchFitsAndNamesTheLeastOne) {
  const absl::StatusOr<RateLimiter> limiter = RateLimiter::Create({.min_size = 512,
                                                                   .samples_per_insert = 1,
                                                                   .window = 512,
                                                                   .launch_rows = 512,
                                                                   .batch = 512,
                                                                   .prefetch = 4});
  EXPECT_EQ(limiter.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(limiter.status().message(), testing::HasSubstr("limiter_window 512"));
  EXPECT_THAT(limiter.status().message(), testing::HasSubstr("3072"));
}

TEST(RateLimiter, TakesTheLeastWindow) {
  LimiterOptions options = {
      .samples_per_insert = 2, .launch_rows = 100, .batch = 32, .prefetch = 1};
  options.window = 2 * 100 + 32 * 2;
  EXPECT_TRUE(RateLimiter::Create(options).ok());
  options.window -= 1;
  EXPECT_FALSE(RateLimiter::Create(options).ok());
}

TEST(RateLimiter, AllowsNoSampleBeforeMinSize) {
  RateLimiter limiter = *RateLimiter::Create(
      {.min_size = 100, .samples_per_insert = 1, .launch_rows = 50, .batch = 8});
  limiter.Inserted(99);
  EXPECT_FALSE(limiter.CanSample());
  limiter.Inserted(1);
  EXPECT_TRUE(limiter.CanSample());
}

TEST(RateLimiter, AllowsAsManyBatchesAtOnceAsOneByOne) {
  RateLimiter limiter = *RateLimiter::Create(
      {.min_size = 100, .samples_per_insert = 3, .launch_rows = 50, .batch = 7});
  EXPECT_EQ(limiter.BatchesAllowed(), 0u);
  limiter.Inserted(150);
  const uint64_t at_once = limiter.BatchesAllowed();
  EXPECT_GT(at_once, 1u);
  for (uint64_t i = 0; i < at_once; ++i) {
    EXPECT_EQ(limiter.BatchesAllowed(), at_once - i);
    limiter.Sampled(7);
  }
  EXPECT_FALSE(limiter.CanSample());
  EXPECT_LE(limiter.error(), limiter.window());
}

TEST(RateLimiter, KeepsTwoLaunchesInFlightByDefaultWhenInBalance) {
  RateLimiter limiter =
      *RateLimiter::Create({.min_size = 100, .samples_per_insert = 32, .launch_rows = 256});
  limiter.Inserted(100);
  EXPECT_EQ(limiter.LaunchesAllowed(0), 2u);
}

TEST(RateLimiter, CountsExactlyBeyondThirtyTwoBits) {
  RateLimiter limiter =
      *RateLimiter::Create({.min_size = 1, .samples_per_insert = 1, .launch_rows = 64'000});
  const uint64_t large = (uint64_t{1} << 53) - 32'000;
  limiter.Inserted(large);
  limiter.Sampled(large);
  for (int launch = 0; launch < 2; ++launch) {
    limiter.Inserted(64'000);
    limiter.Sampled(64'000);
    EXPECT_EQ(limiter.inserts(), large + 64'000u * (launch + 1));
    EXPECT_NEAR(limiter.error(), 1.0, 2.0);
  }
}

TEST(RateLimiter, GoesOnFromItsCountersWithTheSameSettings) {
  const LimiterOptions options{.min_size = 100, .samples_per_insert = 4, .launch_rows = 50};
  RateLimiter limiter = *RateLimiter::Create(options);
  limiter.Restore(1000, 3700, options);
  EXPECT_EQ(limiter.inserts(), 1000u);
  EXPECT_EQ(limiter.samples(), 3700u);
  EXPECT_EQ(limiter.error(), 100.0);
}

// Otherwise all rows of the run before would be sampled after all, or waited for.
TEST(RateLimiter, KeepsItsErrorAndNotItsDebtsWhenSettingsChangeAtAResume) {
  const LimiterOptions then{.min_size = 1000, .samples_per_insert = 16, .launch_rows = 500};
  for (const uint64_t inserts : {uint64_t{20'000}, uint64_t{1'000'000'000}}) {
    for (const double spi : {0.5, 2.0, 16.0, 64.0}) {
      for (const uint64_t min_size : {uint64_t{100}, uint64_t{1000}, uint64_t{5000}}) {
        for (const int64_t error : {-400, 0, 300}) {
          RateLimiter limiter = *RateLimiter::Create(
              {.min_size = min_size, .samples_per_insert = spi, .launch_rows = 500});
          const uint64_t samples = 16 * (inserts - 1000) + static_cast<uint64_t>(error);
          limiter.Restore(inserts, samples, then);
          EXPECT_EQ(limiter.inserts(), inserts);
          EXPECT_EQ(limiter.error(), static_cast<double>(error)) << spi << " " << min_size;
        }
      }
    }
  }
}

TEST(RateLimiter, ComesBackIntoANarrowerWindow) {
  const LimiterOptions then{.min_size = 1, .samples_per_insert = 100, .launch_rows = 500};
  for (const int64_t error : {-90'000, 90'000}) {
    RateLimiter limiter = *RateLimiter::Create(
        {.min_size = 1, .samples_per_insert = 1, .launch_rows = 500, .batch = 64});
    limiter.Restore(10'001, 1'000'000 + static_cast<uint64_t>(error), then);
    EXPECT_EQ(limiter.error(), error < 0 ? -limiter.window() : limiter.window());
    EXPECT_EQ(limiter.CanSample(), error < 0);
    EXPECT_EQ(limiter.LaunchesAllowed(0) > 0, error > 0);
  }
}

TEST(RateLimiter, BeginsAnewWhereMinSizeIsNotReached) {
  const LimiterOptions then{.min_size = 1000, .samples_per_insert = 8, .launch_rows = 100};
  RateLimiter lowered =
      *RateLimiter::Create({.min_size = 10, .samples_per_insert = 8, .launch_rows = 100});
  lowered.Restore(900, 0, then);  // nothing was owed for these
  EXPECT_EQ(lowered.error(), 0.0);
  RateLimiter raised =
      *RateLimiter::Create({.min_size = 5000, .samples_per_insert = 8, .launch_rows = 100});
  raised.Restore(2000, 8000, then);
  EXPECT_FALSE(raised.CanSample());
  raised.Inserted(3000);
  EXPECT_EQ(raised.error(), 0.0);
}

// Random settings, the tightest windows among them: the loop of a learner that always does what the
// limiter allows never stands still, and the bound holds from min_size on.
TEST(RateLimiter, NeverDeadlocksAndKeepsTheBound) {
  std::mt19937_64 random(9);
  for (int trial = 0; trial < 400; ++trial) {
    LimiterOptions options;
    options.launch_rows = random() % 500 + 1;
    options.min_size = random() % 2000 + 1;
    options.samples_per_insert = std::exp(static_cast<double>(random() % 1000) / 100.0 - 5.0);
    options.batch = random() % 300 + 1;
    options.open_rows = random() % 3 == 0 ? random() % 1000 : 0;
    const double least =
        options.samples_per_insert * static_cast<double>(options.launch_rows + options.open_rows) +
        static_cast<double>(options.batch);
    options.window = random() % 2 == 0 ? least : 0;
    RateLimiter limiter = *RateLimiter::Create(options);

    uint64_t granted = 0;  // launches under way
    uint64_t open = 0;     // received rows whose window is open
    for (int step = 0; step < 2000; ++step) {
      const uint64_t allowed = limiter.LaunchesAllowed(open);
      if (allowed > granted) granted = allowed;
      const bool can_sample = limiter.CanSample();
      ASSERT_TRUE(granted > 0 || can_sample) << "trial " << trial << " step " << step;
      if (granted > 0 && (!can_sample || random() % 2 == 0)) {
        --granted;
        const uint64_t there = open + options.launch_rows;
        open = options.open_rows == 0 ? 0 : std::min(there, random() % (options.open_rows + 1));
        limiter.Inserted(there - open);
      } else if (can_sample) {
        limiter.Sampled(options.batch);
      }
      if (limiter.inserts() >= options.min_size) {
        ASSERT_LE(std::abs(limiter.error()), limiter.window() * (1 + 1e-12) + 1e-6)
            << "trial " << trial << " step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace vixen::learner
