// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_count.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/str_cat.h"

namespace vixen::base {
namespace {

namespace fs = std::filesystem;

// The whitespace-separated words of a small file; none when it cannot be read.
std::vector<std::string> WordsOf(const fs::path& file) {
  std::ifstream stream(file);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Where the process's own group lies below the mount of each kind of hierarchy.
struct OwnGroup {
  std::string mount;  // below the cgroup root: "" for v2, "cpu", "memory", "cpu,cpuacct" for v1
  std::string path;   // "/kubepods/pod1/container"
};

std::vector<OwnGroup> OwnGroups(const std::string& proc_self_cgroup, std::string_view controller) {
  std::vector<OwnGroup> groups;
  std::ifstream stream(proc_self_cgroup);
  for (std::string line; std::getline(stream, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',', absl::SkipEmpty());
    if (controllers.empty()) {
      groups.push_back({"", parts[2]});
    } else if (std::count(controllers.begin(), controllers.end(), controller) > 0) {
      groups.push_back({parts[1], parts[2]});
      if (controllers.size() > 1) groups.push_back({std::string(controller), parts[2]});
    }
  }
  // A container may not see its own path, yet its limits stand at the root of what it sees.
  groups.push_back({"", "/"});
  groups.push_back({std::string(controller), "/"});
  return groups;
}

// Calls `visit` with the folder of the process's group and every folder above it up to the root: a
// limit of any of them binds.
void ForEachFolder(const std::string& cgroup_root, const std::string& proc_self_cgroup,
                   std::string_view controller, const std::function<void(const fs::path&)>& visit) {
  for (const OwnGroup& group : OwnGroups(proc_self_cgroup, controller)) {
    const fs::path mount =
        group.mount.empty() ? fs::path(cgroup_root) : fs::path(cgroup_root) / group.mount;
    for (fs::path path = fs::path(group.path).lexically_normal();; path = path.parent_path()) {
      visit(mount / path.relative_path());
      if (!path.has_relative_path()) break;
    }
  }
}

double QuotaOf(const fs::path& folder) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double quota = 0;
  double period = 0;
  if (const auto v2 = WordsOf(folder / "cpu.max"); v2.size() == 2) {
    if (!absl::SimpleAtod(v2[0], &quota) || !absl::SimpleAtod(v2[1], &period)) return kNone;
  } else {
    const auto v1_quota = WordsOf(folder / "cpu.cfs_quota_us");
    const auto v1_period = WordsOf(folder / "cpu.cfs_period_us");
    if (v1_quota.size() != 1 || v1_period.size() != 1) return kNone;
    if (!absl::SimpleAtod(v1_quota[0], &quota) || !absl::SimpleAtod(v1_period[0], &period))
      return kNone;
  }
  return quota > 0 && period > 0 && std::isfinite(quota / period) ? quota / period : kNone;
}

unsigned long long MemoryLimitOf(const fs::path& folder) {
  unsigned long long limit = std::numeric_limits<unsigned long long>::max();
  for (const char* name : {"memory.max", "memory.limit_in_bytes"}) {
    uint64_t value = 0;
    const auto words = WordsOf(folder / name);
    if (words.size() == 1 && absl::SimpleAtoi(words[0], &value) && value > 0) {
      limit = std::min<unsigned long long>(limit, value);
    }
  }
  return limit;
}

int AffinityCpus() {
  for (int cpus = CPU_SETSIZE; cpus <= 1 << 16; cpus *= 2) {
    std::vector<cpu_set_t> mask(cpus / CPU_SETSIZE);
    const size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, mask.data()) == 0) return CPU_COUNT_S(bytes, mask.data());
  }
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

std::string CgroupRoot() {
  const char* const root = std::getenv("VIXEN_CGROUP_ROOT");
  return root != nullptr && *root != '\0' ? root : "/sys/fs/cgroup";
}

int AvailableCpus(const std::string& cgroup_root, const std::string& proc_self_cgroup) {
  double cpus = std::max(AffinityCpus(), 1);
  ForEachFolder(cgroup_root, proc_self_cgroup, "cpu",
                [&](const fs::path& folder) { cpus = std::min(cpus, std::ceil(QuotaOf(folder))); });
  return std::max(static_cast<int>(cpus), 1);
}

unsigned long long AvailableMemoryBytes(const std::string& cgroup_root,
                                        const std::string& proc_self_cgroup) {
  unsigned long long bytes = static_cast<unsigned long long>(sysconf(_SC_PHYS_PAGES)) *
                             static_cast<unsigned long long>(sysconf(_SC_PAGESIZE));
  ForEachFolder(cgroup_root, proc_self_cgroup, "memory",
                [&](const fs::path& folder) { bytes = std::min(bytes, MemoryLimitOf(folder)); });
  return bytes;
}

}  // namespace vixen::base
