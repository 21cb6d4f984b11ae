// SPDX-License-Identifier: Apache-2.0
#include "kernels/executors/cuda_support.h"

namespace vixen::kernels {
namespace {

absl::Status NotInThisBuild() {
  return absl::FailedPreconditionError(
      "this build has the CPU executor only; build with `scripts/build.sh cuda`");
}

}  // namespace

absl::StatusOr<std::string> UsableCudaDevice(int) { return NotInThisBuild(); }

CollectorFactory CudaFactory(int, CudaAlgorithm) {
  return [](const CollectorOptions&) { return NotInThisBuild(); };
}

}  // namespace vixen::kernels
