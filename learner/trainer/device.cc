// SPDX-License-Identifier: Apache-2.0
#include "learner/trainer/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>

#include "absl/strings/str_cat.h"
#include "base/exit_code.h"

namespace vixen::learner {

absl::StatusOr<std::string> SetUpDevice(const std::string& requested, int threads) {
  at::set_num_threads(threads);
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

}  // namespace vixen::learner
