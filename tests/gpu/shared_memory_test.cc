// SPDX-License-Identifier: Apache-2.0
#include "learner/device/shared_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vixen::learner {
namespace {

constexpr size_t kTuring = 65'536;   // sm_75
constexpr size_t kAda = 101'376;     // sm_86, sm_89
constexpr size_t kHopper = 232'448;  // sm_90

absl::Status Check(uint32_t width, DevicePrecision precision, size_t bytes) {
  kernels::Architecture architecture;
  architecture.hidden1 = width;
  return CheckSharedMemory(DeviceNetworkOf(architecture), precision, bytes, "gpu 0");
}

TEST(SharedMemory, EveryWidthFitsWhereABlockMayHaveEnough) {
  for (const uint32_t width : {16u, 256u, 1024u}) {
    EXPECT_TRUE(Check(width, DevicePrecision::kFp32, kAda).ok());
    EXPECT_TRUE(Check(width, DevicePrecision::kTf32, kHopper).ok());
    EXPECT_TRUE(Check(width, DevicePrecision::kBf16, kTuring).ok());
  }
}

TEST(SharedMemory, LayersThatAreTooWideAreRefusedWithTheNumbersAndTheWidestThatFits) {
  EXPECT_TRUE(Check(1008, DevicePrecision::kFp32, kTuring).ok());
  const absl::Status refused = Check(1024, DevicePrecision::kFp32, kTuring);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.message(),
            "layers 1024 wide need 65920 bytes of shared memory a block, gpu 0 allows 65536; take "
            "layers of at most 1008, or device cpu");
}

}  // namespace
}  // namespace vixen::learner
