// SPDX-License-Identifier: Apache-2.0
#include "kernels/executors/choose_executor.h"

#include <gtest/gtest.h>

#include "base/str_cat.h"
#include "kernels/executors/cuda_support.h"

namespace vixen::kernels {
namespace {

// What a machine without a GPU answers: a build without CUDA knows no driver.
#if defined(VIXEN_WITH_CUDA)
constexpr absl::StatusCode kNoGpu = absl::StatusCode::kUnavailable;
#else
constexpr absl::StatusCode kNoGpu = absl::StatusCode::kFailedPrecondition;
#endif

class WithoutGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (UsableCudaDevice(0).ok()) GTEST_SKIP() << "there is a GPU here";
  }
};

TEST(ChooseExecutor, TakesTheCpuWhenAsked) {
  const auto chosen = ChooseExecutor({.kind = ExecutorKind::kCpu});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->kind, ExecutorKind::kCpu);
  EXPECT_EQ(chosen->reason, "executor = cpu");
  EXPECT_NE(chosen->make, nullptr);
}

TEST(ChooseExecutor, RefusesAnAlgorithmOfCudaOnTheCpu) {
  const auto chosen =
      ChooseExecutor({.kind = ExecutorKind::kCpu, .algorithm = CudaAlgorithm::kTiled});
  EXPECT_EQ(chosen.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(chosen.status().message().find("algorithm = tiled"), std::string::npos);
}

TEST_F(WithoutGpu, AutoRunsOnTheCpuAndSaysWhy) {
  const auto chosen = ChooseExecutor({});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->kind, ExecutorKind::kCpu);
  EXPECT_NE(chosen->reason.find(base::ToStd(UsableCudaDevice(0).status().message())),
            std::string::npos);
}

TEST_F(WithoutGpu, CudaIsRefusedWithWhatIsMissing) {
  const auto chosen = ChooseExecutor({.kind = ExecutorKind::kCuda});
  EXPECT_EQ(chosen.status().code(), kNoGpu);
  EXPECT_NE(chosen.status().message().find("executor = cuda"), std::string::npos);
}

}  // namespace
}  // namespace vixen::kernels
