// SPDX-License-Identifier: Apache-2.0
#include <cpuid.h>
#include <dlfcn.h>
#include <sys/resource.h>

#include <cstring>

#include "absl/strings/str_join.h"
#include "base/cpu_count.h"
#include "base/str_cat.h"
#include "tool/doctor/finding.h"
#include "tool/format.h"

namespace vixen::tool {
namespace {

constexpr uint64_t kLeastMemory = 1ull << 30;
constexpr uint64_t kEnoughMemory = 4ull << 30;
constexpr rlim_t kLeastFiles = 64;
constexpr rlim_t kEnoughFiles = 1024;

std::string ProcessorName() {
  char name[49] = {};
  unsigned registers[4];
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    if (__get_cpuid(0x80000002 + leaf, &registers[0], &registers[1], &registers[2],
                    &registers[3])) {
      std::memcpy(name + 16 * leaf, registers, 16);
    }
  }
  return name[0] == '\0' ? "x86-64" : name;
}

Finding ExamineInstructions() {
  std::vector<std::string> missing;
  const std::pair<const char*, bool> needed[] = {
      {"AVX2", __builtin_cpu_supports("avx2") != 0},
      {"FMA", __builtin_cpu_supports("fma") != 0},
      {"BMI2", __builtin_cpu_supports("bmi2") != 0},
  };
  for (const auto& [name, there] : needed) {
    if (!there) missing.push_back(name);
  }
  const std::string name = ProcessorName();
  if (!missing.empty()) {
    return {"CPU", Verdict::kFail, base::StrCat(name, " has no ", absl::StrJoin(missing, ", ")),
            "run on an x86-64-v3 processor, or build with -DVIXEN_MARCH=x86-64-v2"};
  }
  return {"CPU", Verdict::kOk,
          base::StrCat(name, ", x86-64-v3",
                       __builtin_cpu_supports("avx512f") != 0 ? " with AVX-512" : ""),
          ""};
}

Finding ExamineFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return {"open files", Verdict::kWarn, "the limit cannot be read", "check ulimit -n"};
  }
  const std::string text =
      base::StrCat("limit ", limit.rlim_cur, ", can be raised to ", limit.rlim_max);
  if (limit.rlim_cur < kLeastFiles) {
    return {"open files", Verdict::kFail, text, base::StrCat("ulimit -n ", kEnoughFiles)};
  }
  if (limit.rlim_cur < kEnoughFiles) {
    return {"open files", Verdict::kWarn, text,
            base::StrCat("ulimit -n ", kEnoughFiles, " for many streams")};
  }
  return {"open files", Verdict::kOk, text, ""};
}

}  // namespace

std::vector<Finding> ExamineMachine() {
  std::vector<Finding> findings = {ExamineInstructions()};
  const int cores = base::AvailableCpus();
  findings.push_back(
      {"cores", cores > 1 ? Verdict::kOk : Verdict::kWarn,
       base::StrCat(Plural(static_cast<uint64_t>(cores), "core"), " by affinity and cgroup"),
       cores > 1 ? "" : "actor and learner share one core: give the container two"});
  const uint64_t memory = base::AvailableMemoryBytes();
  findings.push_back(
      {"memory",
       memory < kLeastMemory    ? Verdict::kFail
       : memory < kEnoughMemory ? Verdict::kWarn
                                : Verdict::kOk,
       base::StrCat(Bytes(memory), " by cgroup"),
       memory < kEnoughMemory
           ? "4 GiB hold actor, learner and a replay of a million rows; set a smaller "
             "--capacity below that"
           : ""});
  findings.push_back(ExamineFiles());
  return findings;
}

std::vector<Finding> ExamineLibraries() {
  std::vector<Finding> findings;
  std::vector<std::string> found;
  for (const char* name :
       {"libgrpc++.so.1.51", "libprotobuf.so.32", "libprometheus-cpp-core.so.1.0",
        "libspdlog.so.1.10", "libcrypto.so.3", "libz.so.1"}) {
    void* library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) {
      findings.push_back({"library", Verdict::kWarn, base::StrCat(name, " is not found"),
                          "scripts/install_deps.sh, or use the binaries of the container image"});
      continue;
    }
    dlclose(library);
    found.push_back(name);
  }
  if (findings.empty()) {
    findings.push_back({"libraries", Verdict::kOk, base::StrCat(absl::StrJoin(found, ", ")), ""});
  }
  return findings;
}

}  // namespace vixen::tool
