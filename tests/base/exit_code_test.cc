// SPDX-License-Identifier: Apache-2.0
#include "base/exit_code.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/status/statusor.h"
#include "base/status_macros.h"

namespace vixen::base {
namespace {

absl::StatusOr<int> Wrong() { return UsageError("--steps is 0"); }

absl::Status PassOn() {
  VIXEN_ASSIGN_OR_RETURN(int value, Wrong());
  return value == 0 ? absl::OkStatus() : absl::InternalError("not reached");
}

TEST(ExitCode, IsZeroForDone) { EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0); }

TEST(ExitCode, IsOneForAFailedRun) {
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("row 3: price -1")), 1);
  EXPECT_EQ(ExitCodeOf(absl::DataLossError("x")), 1);
}

TEST(ExitCode, IsTwoForAUsageErrorAlsoAfterBeingPassedOn) {
  const absl::Status status = PassOn();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "--steps is 0");
  EXPECT_TRUE(IsUsageError(status));
  EXPECT_EQ(ExitCodeOf(status), 2);
  EXPECT_FALSE(IsUsageError(absl::InvalidArgumentError("x")));
}

TEST(ReportStatus, PrintsOneLineWhateverTheMessageHolds) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(ReportStatus("vixen", absl::InternalError("a\nb\r\tc\x1b[0m")), 1);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "vixen: a b  c [0m\n");
}

TEST(ReportStatus, PrintsNothingWhenDone) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(ReportStatus("vixen", absl::OkStatus()), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(LeaveNow, EndsTheProcessWithoutWhatAnOrderlyEndWaitsFor) {
  const auto leave = [] {
    std::atexit([] { std::abort(); });
    LeaveNow("vixen", absl::DeadlineExceededError("the GPU is held"));
  };
  EXPECT_EXIT(leave(), ::testing::ExitedWithCode(1), "vixen: the GPU is held");
}

}  // namespace
}  // namespace vixen::base
