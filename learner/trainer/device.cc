// SPDX-License-Identifier: Apache-2.0
#include "learner/trainer/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "base/exit_code.h"
#include "base/status_macros.h"
#include "learner/device/device_updater.h"

namespace vixen::learner {
namespace {

absl::StatusOr<std::string> SetUpTorch(const std::string& requested) {
  if (requested == "cpu") return std::string("cpu");
  if (requested != "auto" && requested != "cuda") {
    return base::UsageError(absl::StrCat("device '", requested, "' is none of auto, cpu, cuda"));
  }
  // Kept open for the life of the process: the backend it registers cannot be taken back. Its
  // answer to hasCUDA() is cached, so this comes before the first question.
  std::string cause;
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    cause = dlerror();
  } else {
    try {
      if (at::hasCUDA() && at::detail::getCUDAHooks().deviceCount() > 0) return std::string("cuda");
      cause = "no CUDA device";
    } catch (const std::exception& error) {
      cause = error.what();
    }
  }
  if (requested == "auto") return std::string("cpu");
  return absl::FailedPreconditionError(
      absl::StrCat("device cuda is not usable: ", cause.substr(0, cause.find('\n')),
                   "; use --device auto or cpu"));
}

}  // namespace

absl::StatusOr<Devices> SetUpDevices(const std::string& requested, int local, int threads) {
  at::set_num_threads(threads);
  Devices devices;
  const int gpus = requested == "cpu" ? 0 : UpdaterGpus();
  if (gpus > 0) devices.gpu = local % gpus;
  // Where replay and updates have a GPU, LibTorch may do without.
  const bool spare = gpus > 0 && requested == "cuda";
  VIXEN_ASSIGN_OR_RETURN(devices.torch, SetUpTorch(spare ? "auto" : requested));
  return devices;
}

}  // namespace vixen::learner
