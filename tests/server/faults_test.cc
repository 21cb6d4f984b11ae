// SPDX-License-Identifier: Apache-2.0
#include "server/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/exit_code.h"

namespace vixen::server {
namespace {

using ::testing::HasSubstr;

v1::FaultSettings Settings(const std::string& fault, bool allowed) {
  v1::FaultSettings settings;
  settings.add_fault(fault);
  settings.set_allow_faults(allowed);
  return settings;
}

TEST(Faults, AreNoneWhereNoneIsAskedFor) {
  const auto faults = Faults::Parse({});
  ASSERT_TRUE(faults.ok()) << faults.status();
  EXPECT_EQ(faults->slow_start.count(), 0);
  EXPECT_FALSE(faults->stuck_launch || faults->lost_device || faults->gpu_lost ||
               faults->forget_finish || faults->miscount);
}

TEST(Faults, AreAUsageErrorWithoutAllowFaults) {
  const auto faults = Faults::Parse(Settings("forget_finish", false));
  EXPECT_TRUE(base::IsUsageError(faults.status()));
  EXPECT_THAT(std::string(faults.status().message()), HasSubstr("need allow_faults"));
}

TEST(Faults, AreReadWithTheirNumbers) {
  v1::FaultSettings settings = Settings("slow_start=1.5", true);
  for (const char* more :
       {"stuck_launch=3", "lost_device=0", "gpu_lost=2", "forget_finish", "miscount"}) {
    settings.add_fault(more);
  }
  const auto faults = Faults::Parse(settings);
  ASSERT_TRUE(faults.ok()) << faults.status();
  EXPECT_EQ(faults->slow_start.count(), 1.5);
  EXPECT_EQ(faults->stuck_launch, 3u);
  EXPECT_EQ(faults->lost_device, 0u);
  EXPECT_EQ(faults->gpu_lost->count(), 2);
  EXPECT_TRUE(faults->forget_finish);
  EXPECT_TRUE(faults->miscount);
}

TEST(Faults, AreRefusedByNameWhereThereIsNoSuchFault) {
  for (const char* wrong : {"", "slow_start", "slow_start=-1", "slow_start=x", "stuck_launch=nan",
                            "forget_finish=1", "melt"}) {
    const auto faults = Faults::Parse(Settings(wrong, true));
    EXPECT_TRUE(base::IsUsageError(faults.status())) << wrong;
    EXPECT_THAT(std::string(faults.status().message()), HasSubstr("stuck_launch=N")) << wrong;
  }
}

}  // namespace
}  // namespace vixen::server
