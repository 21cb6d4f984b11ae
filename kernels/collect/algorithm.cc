// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/algorithm.h"

#include "base/str_cat.h"

namespace vixen::kernels {

std::string_view CudaAlgorithmName(CudaAlgorithm algorithm) {
  switch (algorithm) {
    case CudaAlgorithm::kAuto:
      return "auto";
    case CudaAlgorithm::kStepped:
      return "stepped";
    case CudaAlgorithm::kTiled:
      return "tiled";
    case CudaAlgorithm::kResident:
      return "resident";
    case CudaAlgorithm::kTiledMma:
      return "tiled_mma";
  }
  return "unknown";
}

absl::StatusOr<CudaAlgorithm> ParseCudaAlgorithm(std::string_view name) {
  for (const CudaAlgorithm algorithm :
       {CudaAlgorithm::kAuto, CudaAlgorithm::kStepped, CudaAlgorithm::kTiled,
        CudaAlgorithm::kResident, CudaAlgorithm::kTiledMma}) {
    if (name == CudaAlgorithmName(algorithm)) return algorithm;
  }
  return absl::InvalidArgumentError(
      base::StrCat("algorithm = ", name, ": expected auto, stepped, tiled, resident or tiled_mma"));
}

std::string_view PrecisionName(Precision precision) {
  switch (precision) {
    case Precision::kAuto:
      return "auto";
    case Precision::kFp32:
      return "fp32";
    case Precision::kTf32:
      return "tf32";
    case Precision::kFp16:
      return "fp16";
  }
  return "unknown";
}

}  // namespace vixen::kernels
