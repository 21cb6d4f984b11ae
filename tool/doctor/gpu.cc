// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_format.h"
#include "base/shared_library.h"
#include "base/str_cat.h"
#include "tool/doctor/finding.h"
#include "tool/format.h"

namespace vixen::tool {
namespace {

// The few calls of NVIDIA's driver interface that are needed, so that no CUDA header is. A CUresult
// of 0 is success.
using Init = int (*)(unsigned);
using DriverVersion = int (*)(int*);
using DeviceCount = int (*)(int*);
using DeviceGet = int (*)(int*, int);
using DeviceName = int (*)(char*, int, int);
using DeviceMemory = int (*)(size_t*, int);
using DeviceAttribute = int (*)(int*, int, int);

constexpr int kComputeMajor = 75;
constexpr int kComputeMinor = 76;
constexpr int kLeastDriver = 13'000;  // CUDA 13.0
constexpr int kLeastCompute = 75;

std::vector<Finding> ExamineDevices(base::SharedLibrary& library) {
  Init init = nullptr;
  library.Find("cuInit", init);
  DriverVersion version = nullptr;
  library.Find("cuDriverGetVersion", version);
  DeviceCount count = nullptr;
  library.Find("cuDeviceGetCount", count);
  DeviceGet get = nullptr;
  library.Find("cuDeviceGet", get);
  DeviceName name = nullptr;
  library.Find("cuDeviceGetName", name);
  DeviceMemory memory = nullptr;
  library.Find("cuDeviceTotalMem_v2", memory);
  DeviceAttribute attribute = nullptr;
  library.Find("cuDeviceGetAttribute", attribute);
  if (const absl::Status status = library.FoundAll(); !status.ok()) {
    return {{"GPU driver", Verdict::kWarn, std::string(status.message()),
             "install a driver for CUDA 13"}};
  }
  if (const int error = init(0); error != 0) {
    return {{"GPU driver", Verdict::kWarn, base::StrCat("cuInit fails with ", error),
             "check nvidia-smi and the container's GPU access; the CPU executor runs meanwhile"}};
  }
  std::vector<Finding> findings;
  int driver = 0, devices = 0;
  version(&driver);
  findings.push_back(
      {"GPU driver", driver >= kLeastDriver ? Verdict::kOk : Verdict::kWarn,
       absl::StrFormat("for CUDA %d.%d", driver / 1000, driver % 1000 / 10),
       driver >= kLeastDriver ? "" : "the CUDA executor needs a driver for CUDA 13.0 or newer"});
  count(&devices);
  if (devices == 0) {
    findings.push_back({"GPU", Verdict::kWarn, "the driver shows no device",
                        "check CUDA_VISIBLE_DEVICES and the container's GPU access"});
  }
  for (int i = 0; i < devices; ++i) {
    int device = 0, major = 0, minor = 0;
    char text[128] = {};
    size_t bytes = 0;
    if (get(&device, i) != 0) continue;
    name(text, sizeof(text) - 1, device);
    memory(&bytes, device);
    attribute(&major, kComputeMajor, device);
    attribute(&minor, kComputeMinor, device);
    const bool new_enough = 10 * major + minor >= kLeastCompute;
    findings.push_back({base::StrCat("GPU ", i), new_enough ? Verdict::kOk : Verdict::kWarn,
                        absl::StrFormat("%s, compute %d.%d, %s", text, major, minor, Bytes(bytes)),
                        new_enough ? "" : "compute 7.5 or newer is needed for the CUDA executor"});
  }
  return findings;
}

}  // namespace

std::vector<Finding> ExamineGpu() {
  absl::StatusOr<base::SharedLibrary> driver = base::SharedLibrary::Open("libcuda.so.1");
  if (!driver.ok()) {
    return {{"GPU", Verdict::kOk,
             "none: no NVIDIA driver (libcuda.so.1) here; everything runs on the CPU", ""}};
  }
  return ExamineDevices(*driver);
}

}  // namespace vixen::tool
