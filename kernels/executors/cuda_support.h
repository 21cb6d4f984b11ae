// SPDX-License-Identifier: Apache-2.0
// The seam between builds with and without CUDA: cuda_support.cc or cuda_missing.cc is compiled.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "kernels/collect/algorithm.h"
#include "kernels/collect/collector.h"

namespace vixen::kernels {

// The device's description. FAILED_PRECONDITION when this build has no CUDA or the device is too
// old, UNAVAILABLE without driver or device, NOT_FOUND when `gpu` is not one of several.
absl::StatusOr<std::string> UsableCudaDevice(int gpu);

// Collectors of one factory share the dataset in the device's memory.
CollectorFactory CudaFactory(int gpu, CudaAlgorithm algorithm);

}  // namespace vixen::kernels
