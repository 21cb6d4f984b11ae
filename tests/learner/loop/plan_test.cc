// SPDX-License-Identifier: Apache-2.0
#include "learner/loop/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "learner/replay/rate_limiter.h"
#include "tests/learner/checkpoint/example_cut.h"
#include "tests/server/tiny_dataset.h"

namespace vixen::learner {
namespace {

// A learner of `actors` whose launches carry over: each has its own windows open, and closes them
// with its own next launch only.
void ExpectNeverStandsStill(const LimiterOptions& options, size_t actors, uint64_t most_open,
                            std::mt19937_64& random) {
  RateLimiter limiter = *RateLimiter::Create(options);
  std::vector<uint64_t> open(actors, 0);
  for (int step = 0; step < 1000; ++step) {
    uint64_t all_open = 0;
    for (const uint64_t rows : open) all_open += rows;
    const bool may_launch = limiter.LaunchesAllowed(all_open) > 0;
    const bool can_sample = limiter.CanSample();
    ASSERT_TRUE(may_launch || can_sample)
        << actors << " actors, " << most_open << " open rows each, launches of "
        << options.launch_rows << ", error " << limiter.error() << " of " << limiter.window();
    if (may_launch && (!can_sample || random() % 4 == 0)) {
      uint64_t& own = open[random() % actors];
      const uint64_t there = own + options.launch_rows;
      own = std::min(there, most_open);
      limiter.Inserted(there - own);
    } else {
      limiter.Sampled(options.batch);
    }
    if (limiter.inserts() >= options.min_size) {
      ASSERT_LE(std::abs(limiter.error()), limiter.window() * (1 + 1e-12) + 1e-6);
    }
  }
}

TEST(Plan, TheLimiterHasRoomForTheOpenWindowsOfEveryActor) {
  std::mt19937_64 random(4);
  for (const size_t actors : {1, 2, 3, 6, 20}) {
    for (const uint32_t steps : {1, 4, 100}) {
      for (const uint32_t n : {1, 3, 20, 64}) {
        Plan plan = ExamplePlan();
        plan.episodes = 8;
        plan.launch_rows = 8 * steps;
        plan.config.mutable_replay()->set_n_step(n);
        plan.config.mutable_limiter()->set_samples_per_insert(4);
        plan.config.mutable_trainer()->set_batch_size(16);
        for (size_t i = 0; i < actors; ++i) plan.config.add_actor("a:" + std::to_string(i + 1));
        const LimiterOptions own = plan.limiter();
        ExpectNeverStandsStill(own, actors, 8 * (n - 1), random);

        LimiterOptions least = own;
        least.window = 4.0 * static_cast<double>(own.launch_rows + own.open_rows) + 16;
        ExpectNeverStandsStill(least, actors, 8 * (n - 1), random);
        least.window -= 1;
        EXPECT_EQ(RateLimiter::Create(least).status().code(),
                  absl::StatusCode::kFailedPrecondition);
      }
    }
  }
}

// What an actor, or a recorded batch, says of itself is no more than that: rows are looked up in
// the dataset by it.
TEST(Plan, ADatasetThatTheRowsDoNotFitIsRefusedWithBothValues) {
  const std::shared_ptr<const market::Dataset> dataset = *server::TinyDataset();
  const auto bytes = [](const base::Sha256Digest& digest) {
    return std::string(digest.begin(), digest.end());
  };
  Plan fits = ExamplePlan();
  fits.dataset_fingerprint = bytes(dataset->fingerprint());
  fits.scaler_fingerprint = bytes(dataset->scaler_fingerprint());
  fits.architecture.features = 4;
  fits.bars = 60;
  EXPECT_TRUE(CheckDataset(fits, *dataset).ok()) << CheckDataset(fits, *dataset);

  const auto expect_refused = [&](const Plan& plan, const std::string& message) {
    const absl::Status status = CheckDataset(plan, *dataset);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << message;
    EXPECT_THAT(status.message(), testing::HasSubstr(message));
  };
  Plan other = fits;
  other.dataset_fingerprint = std::string(32, 'd');
  expect_refused(other, "dataset fingerprint is 64646464");
  other = fits;
  other.scaler_fingerprint = std::string(32, 's');
  expect_refused(other, "scaler fingerprint is 73737373");
  for (const uint32_t features : {1u, 3u, 5u, 4096u}) {
    other = fits;
    other.architecture.features = features;
    expect_refused(
        other, "number of features is " + std::to_string(features) + ", that of the dataset is 4");
  }
  other = fits;
  other.bars = 61;
  expect_refused(other, "number of bars is 61, that of the dataset is 60");
}

TEST(Plan, RecordedBatchesAreOfOneActor) {
  Plan plan = ExamplePlan();
  plan.config.add_offline("batches");
  plan.config.mutable_replay()->set_n_step(3);
  EXPECT_EQ(plan.limiter().open_rows, 128u * 2);
  plan.environment.carry_over = false;
  EXPECT_EQ(plan.limiter().open_rows, 0u);
}

}  // namespace
}  // namespace vixen::learner
