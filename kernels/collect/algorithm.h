// SPDX-License-Identifier: Apache-2.0
// Names of what an executor can be asked for; known to every build, with CUDA or without.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/collect/collector.h"

namespace vixen::kernels {

// How the CUDA executor runs a launch (docs/architecture.md, "The executor").
// `tiled_mma` and `resident_single`: tiled without wgmma and resident without clusters, what sm_80
// … sm_89 run; sm_90 by force.
enum class CudaAlgorithm : uint8_t {
  kAuto = 0,
  kStepped = 1,
  kTiled = 2,
  kResident = 3,
  kTiledMma = 4,
  kResidentSingle = 5
};

std::string_view CudaAlgorithmName(CudaAlgorithm algorithm);

std::string_view PrecisionName(Precision precision);

}  // namespace vixen::kernels
