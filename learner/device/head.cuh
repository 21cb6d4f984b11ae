// SPDX-License-Identifier: Apache-2.0
// From the head's sums to Q.
#pragma once

#include <cstdint>

#include "kernels/env/settings.h"
#include "learner/device/update_buffers.h"

namespace vixen::learner {

inline constexpr float kLeakySlope = 0.01f;

// Floats from row to row of [rows, V and A_0 …] in shared memory: odd, for other banks.
inline constexpr uint32_t kValueStride = 49;

// Q_a = V + A_a − mean A of one row; a warp together.
__device__ __forceinline__ void StoreQ(const float* value, float* q) {
  const uint32_t lane = threadIdx.x % 32;
  const float low = value[1 + lane];
  const float high = lane + 32 < kernels::kActions ? value[33 + lane] : 0.0f;
  float mean = low + high;
  for (int offset = 16; offset > 0; offset /= 2) mean += __shfl_xor_sync(~0u, mean, offset);
  mean /= static_cast<float>(kernels::kActions);
  q[lane] = value[0] + low - mean;
  if (lane + 32 < kernels::kActions) q[lane + 32] = value[0] + high - mean;
}

}  // namespace vixen::learner
