// SPDX-License-Identifier: Apache-2.0
// fp16 on the host, for images of weights.
#pragma once

#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>

#include "kernels/collect/cuda_range.h"

namespace vixen::kernels {

// Rounded to nearest, ties to even; beyond the range ±65,504.
inline uint16_t HalfBits(float value) {
  return __half_as_ushort(__float2half_rn(std::clamp(value, -kLargestHalf, kLargestHalf)));
}

}  // namespace vixen::kernels
