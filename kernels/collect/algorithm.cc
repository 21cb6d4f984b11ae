// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/algorithm.h"

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
    case CudaAlgorithm::kResidentSingle:
      return "resident_single";
  }
  return "unknown";
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
