// SPDX-License-Identifier: Apache-2.0
#include "kernels/executors/choose_executor.h"

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/executors/cuda_support.h"

namespace vixen::kernels {
namespace {

absl::StatusOr<ChosenExecutor> OnCpu(const ExecutorWish& wish, std::string reason) {
  if (wish.algorithm != CudaAlgorithm::kAuto) {
    return absl::InvalidArgumentError(base::StrCat(
        "algorithm = ", CudaAlgorithmName(wish.algorithm),
        " is one of the CUDA executor, but the CPU executor runs here (", reason, ")"));
  }
  return ChosenExecutor{ExecutorKind::kCpu, std::move(reason), MakeCpuCollector};
}

ChosenExecutor OnCuda(const ExecutorWish& wish, std::string reason) {
  return {ExecutorKind::kCuda, std::move(reason), CudaFactory(wish.gpu, wish.algorithm)};
}

}  // namespace

std::string_view ExecutorKindName(ExecutorKind kind) {
  switch (kind) {
    case ExecutorKind::kAuto:
      return "auto";
    case ExecutorKind::kCpu:
      return "cpu";
    case ExecutorKind::kCuda:
      return "cuda";
  }
  return "unknown";
}

absl::StatusOr<ChosenExecutor> ChooseExecutor(const ExecutorWish& wish) {
  if (wish.kind == ExecutorKind::kCpu) return OnCpu(wish, "executor = cpu");
  const absl::StatusOr<std::string> device = UsableCudaDevice(wish.gpu);
  if (device.ok()) {
    return OnCuda(wish, base::StrCat(wish.kind == ExecutorKind::kCuda ? "executor = cuda, gpu "
                                                                      : "executor = auto, gpu ",
                                     wish.gpu, " is there"));
  }
  if (wish.kind == ExecutorKind::kCuda) {
    return absl::Status(device.status().code(),
                        base::StrCat("executor = cuda: ", device.status().message()));
  }
  // A device that was named and is not there is a mistake; none at all is a machine without GPU.
  if (device.status().code() == absl::StatusCode::kNotFound) return device.status();
  return OnCpu(wish, base::StrCat("executor = auto, ", device.status().message()));
}

}  // namespace vixen::kernels
