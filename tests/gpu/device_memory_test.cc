// SPDX-License-Identifier: Apache-2.0
#include "learner/device/device_memory.h"

#include <gtest/gtest.h>

#include "learner/device/rank_exchange.h"

namespace vixen::learner {
namespace {

constexpr uint64_t kMib = 1ull << 20;

absl::Status Check(uint64_t nccl, uint64_t free) {
  return CheckDeviceMemory({.capacity = 1'000'000, .replay = 100 * kMib, .nccl = nccl},
                           {.gpu = 2, .free = free, .all = 16'000 * kMib});
}

TEST(DeviceMemory, OfALearnerAloneIsReplayAndTheRest) {
  EXPECT_TRUE(Check(0, 612 * kMib).ok());
  const absl::Status refused = Check(0, 612 * kMib - 1);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.message(),
            "capacity 1000000 needs 100 MiB for rows, priorities and the dataset's features, and "
            "512 MiB for the rest; gpu 2 has 611 of 16000 MiB free; lower capacity or take device "
            "cpu");
  EXPECT_EQ(Check(0, 99 * kMib).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(DeviceMemory, LargeMinibatchesCount) {
  const auto check = [](uint64_t free) {
    return CheckDeviceMemory(
        {.capacity = 1'000'000, .replay = 100 * kMib, .minibatches = 300 * kMib},
        {.gpu = 2, .free = free, .all = 16'000 * kMib});
  };
  EXPECT_TRUE(check(912 * kMib).ok());
  EXPECT_EQ(check(912 * kMib - 1).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(DeviceMemory, OfRanksThatMayJoinIsKeptForTheirBuffersToo) {
  const uint64_t enough = 612 * kMib + kNcclBytes;
  EXPECT_TRUE(Check(kNcclBytes, enough).ok());
  const absl::Status refused = Check(kNcclBytes, enough - 1);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.message(),
            "capacity 1000000 needs 100 MiB for rows, priorities and the dataset's features, 1024 "
            "MiB for NCCL (none with gradient_exchange GLOO), and 512 MiB for the rest; gpu 2 has "
            "1635 of 16000 MiB free; lower capacity or take device cpu");
}

}  // namespace
}  // namespace vixen::learner
