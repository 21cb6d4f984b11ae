// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_count.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/scratch_folder.h"

namespace vixen::base {
namespace {

// A folder tree that stands for /sys/fs/cgroup and /proc/self/cgroup.
class CgroupTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path file = scratch_.path() / "cgroup" / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void OwnGroup(const std::string& lines) { std::ofstream(scratch_.File("self")) << lines; }
  int Cpus() { return AvailableCpus(scratch_.File("cgroup"), scratch_.File("self")); }
  unsigned long long Memory() {
    return AvailableMemoryBytes(scratch_.File("cgroup"), scratch_.File("self"));
  }
  int Affinity() { return AvailableCpus(scratch_.File("none"), scratch_.File("none")); }

  testing::ScratchFolder scratch_;
};

TEST_F(CgroupTest, WithoutQuotaItIsTheAffinityMask) {
  cpu_set_t mask;
  ASSERT_EQ(sched_getaffinity(0, sizeof(mask), &mask), 0);
  EXPECT_EQ(Affinity(), CPU_COUNT(&mask));
  OwnGroup("0::/pod\n");
  Write("pod/cpu.max", "max 100000\n");
  EXPECT_EQ(Cpus(), CPU_COUNT(&mask));
}

TEST_F(CgroupTest, ANarrowedAffinityMaskCounts) {
  int cpus = 0;
  std::thread([&] {
    cpu_set_t mask;
    sched_getaffinity(0, sizeof(mask), &mask);
    int first = 0;
    while (!CPU_ISSET(first, &mask)) ++first;
    CPU_ZERO(&mask);
    CPU_SET(first, &mask);
    sched_setaffinity(0, sizeof(mask), &mask);
    cpus = Affinity();
  }).join();
  EXPECT_EQ(cpus, 1);
}

TEST_F(CgroupTest, V2QuotaIsRoundedUp) {
  OwnGroup("0::/pod\n");
  Write("pod/cpu.max", "20000 100000\n");
  EXPECT_EQ(Cpus(), 1);
  Write("pod/cpu.max", "100001 100000\n");
  EXPECT_EQ(Cpus(), std::min(2, Affinity()));
}

TEST_F(CgroupTest, TheLeastQuotaOnTheWayToTheRootBinds) {
  OwnGroup("0::/kubepods/pod/container\n");
  Write("kubepods/pod/container/cpu.max", "max 100000\n");
  Write("kubepods/pod/cpu.max", "100000 100000\n");
  Write("kubepods/cpu.max", "6400000 100000\n");
  EXPECT_EQ(Cpus(), 1);
}

TEST_F(CgroupTest, AContainersOwnRootCountsWhereItsPathIsNotVisible) {
  OwnGroup("0::/host/path/that/is/elsewhere\n");
  Write("cpu.max", "50000 100000\n");
  EXPECT_EQ(Cpus(), 1);
}

TEST_F(CgroupTest, APathAboveTheRootStaysInsideIt) {
  OwnGroup("0::/../../pod\n");
  Write("pod/cpu.max", "50000 100000\n");
  EXPECT_EQ(Cpus(), 1);
}

TEST_F(CgroupTest, V1QuotaIsReadFromTheCpuHierarchy) {
  OwnGroup("4:memory:/m\n3:cpu,cpuacct:/docker/1\n0::/\n");
  Write("cpu,cpuacct/docker/1/cpu.cfs_quota_us", "80000\n");
  Write("cpu,cpuacct/docker/1/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Cpus(), 1);
}

TEST_F(CgroupTest, V1QuotaOfMinusOneIsNone) {
  OwnGroup("3:cpu:/docker/1\n");
  Write("cpu/docker/1/cpu.cfs_quota_us", "-1\n");
  Write("cpu/docker/1/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Cpus(), Affinity());
}

TEST_F(CgroupTest, UnreadableNumbersAreNoQuota) {
  OwnGroup("not a line\n0::/pod\n:::\n");
  for (const char* text : {"", "x 100000", "100000 0", "0 100000", "-5 100000", "nan nan", "1"}) {
    Write("pod/cpu.max", text);
    EXPECT_EQ(Cpus(), Affinity()) << text;
  }
}

TEST_F(CgroupTest, MemoryIsTheLeastLimit) {
  const unsigned long long machine = Memory();
  EXPECT_GT(machine, 1u << 20);
  OwnGroup("0::/a/b\n");
  Write("a/b/memory.max", "max\n");
  EXPECT_EQ(Memory(), machine);
  Write("a/memory.max", "1048576\n");
  EXPECT_EQ(Memory(), 1048576u);
  Write("a/b/memory.max", "524288\n");
  EXPECT_EQ(Memory(), 524288u);
}

TEST_F(CgroupTest, V1MemoryLimitIsReadAndItsNoneIsIgnored) {
  const unsigned long long machine = Memory();
  OwnGroup("4:memory:/docker/1\n");
  Write("memory/docker/1/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Memory(), machine);
  Write("memory/docker/1/memory.limit_in_bytes", "65536\n");
  EXPECT_EQ(Memory(), 65536u);
}

TEST(AvailableCpus, IsAtLeastOneHere) {
  EXPECT_GE(AvailableCpus(), 1);
  EXPECT_GT(AvailableMemoryBytes(), 1u << 20);
}

}  // namespace
}  // namespace vixen::base
