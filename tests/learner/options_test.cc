// SPDX-License-Identifier: Apache-2.0
#include "learner/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/exit_code.h"
#include "learner/replay/replay.h"
#include "learner/replay/row.h"
#include "proto/config/effective.h"

namespace vixen::learner {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMiB = 1 << 20;

v1::LearnerConfig WithCapacity(uint64_t capacity, bool checkpoints) {
  v1::LearnerConfig config;
  config.mutable_replay()->set_capacity(capacity);
  if (checkpoints) config.set_out("out");
  config::FillDefaults(config);
  return config;
}

TEST(CheckMemory, AReplayThatFitsIsTaken) {
  EXPECT_TRUE(CheckMemory(WithCapacity(1'000'000, true), true, 4096 * kMiB).ok());
  EXPECT_TRUE(CheckMemory(WithCapacity(1'000, true), true, 512 * kMiB).ok());
}

TEST(CheckMemory, AReplayThatDoesNotFitIsAUsageErrorWithTheArithmetic) {
  const absl::Status status = CheckMemory(WithCapacity(100'000'000, true), true, 1024 * kMiB);
  EXPECT_TRUE(base::IsUsageError(status));
  const std::string text(status.message());
  EXPECT_THAT(text, HasSubstr("capacity is 100000000"));
  EXPECT_THAT(text, HasSubstr("MiB of replay"));
  EXPECT_THAT(text, HasSubstr("MiB for checkpoints"));
  EXPECT_THAT(text, HasSubstr("1024 MiB"));
}

TEST(CheckMemory, TheCapacityThatItNamesFitsAndOneMoreDoesNot) {
  const uint64_t limit = 1024 * kMiB;
  const std::string text(CheckMemory(WithCapacity(100'000'000, false), true, limit).message());
  const std::string mark = "set capacity to at most ";
  ASSERT_THAT(text, HasSubstr(mark));
  const uint64_t most = std::stoull(text.substr(text.find(mark) + mark.size()));
  EXPECT_TRUE(CheckMemory(WithCapacity(most, false), true, limit).ok());
  EXPECT_FALSE(CheckMemory(WithCapacity(most + 1, false), true, limit).ok());
}

TEST(CheckMemory, AReplayOnTheGpuTakesNoneOfTheHostButForCheckpoints) {
  EXPECT_FALSE(CheckMemory(WithCapacity(100'000'000, false), true, 1024 * kMiB).ok());
  EXPECT_TRUE(CheckMemory(WithCapacity(100'000'000, false), false, 1024 * kMiB).ok());
  // A cut holds the rows twice: in columns, and as they come from the GPU.
  const uint64_t rows = 10'000'000;
  const uint64_t cut = Replay::CutBytesOf(rows) + rows * (sizeof(ReplayRow) + sizeof(float));
  const absl::Status refused = CheckMemory(WithCapacity(rows, true), false, cut);
  EXPECT_TRUE(base::IsUsageError(refused));
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr(absl::StrCat("0 MiB of replay + ", cut / kMiB, " MiB for checkpoints")));
  EXPECT_TRUE(CheckMemory(WithCapacity(rows, true), false, cut + 1024 * kMiB).ok());
}

TEST(CheckMemory, ALimitBelowWhatTheProgramNeedsSaysSo) {
  const absl::Status status = CheckMemory(WithCapacity(16, false), true, 100 * kMiB);
  EXPECT_TRUE(base::IsUsageError(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("raise the limit"));
}

}  // namespace
}  // namespace vixen::learner
