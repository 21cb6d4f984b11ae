// SPDX-License-Identifier: Apache-2.0
// Kernels of one warp a slot or row.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace vixen::kernels {

inline constexpr int kWarpsPerBlock = 4;
inline constexpr int kWarpThreads = 32 * kWarpsPerBlock;  // of a block

inline dim3 WarpGrid(uint32_t warps) { return (warps + kWarpsPerBlock - 1) / kWarpsPerBlock; }

__device__ __forceinline__ uint32_t WarpIndex() {
  return blockIdx.x * kWarpsPerBlock + threadIdx.x / 32;
}

}  // namespace vixen::kernels
