// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vixen::base {

// /sys/fs/cgroup, or what VIXEN_CGROUP_ROOT names.
std::string CgroupRoot();

// Processors that this process may use: the least of the affinity mask and the cgroup CPU quota
// (v2 cpu.max or v1 cpu.cfs_quota_us, rounded up), at least 1. A pod with a limit of two cores on a
// 64-core node gets 2, where std::thread::hardware_concurrency says 64.
// `cgroup_root` stands for /sys/fs/cgroup and `proc_self_cgroup` for /proc/self/cgroup in tests;
// tests of whole programs set VIXEN_CGROUP_ROOT.
int AvailableCpus(const std::string& cgroup_root = CgroupRoot(),
                  const std::string& proc_self_cgroup = "/proc/self/cgroup");

// The cgroup's memory limit in bytes, or the machine's memory when there is none.
unsigned long long AvailableMemoryBytes(const std::string& cgroup_root = CgroupRoot(),
                                        const std::string& proc_self_cgroup = "/proc/self/cgroup");

}  // namespace vixen::base
