// SPDX-License-Identifier: Apache-2.0
// The resident algorithm without clusters (sm_80 … sm_89 and, by force, sm_90): one block an SM has
// the whole online network, about half of it in registers and 99 KB of shared memory, the rest read
// from the L2 cache in every step. fp16, and tf32 (weights of 11 significant bits, activations of
// 22) where no block has more than one episode. Widths as of the tile kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/collect/cuda_launch.h"
#include "kernels/collect/cuda_tile_layout.h"

namespace vixen::kernels {

// Most episodes that a device with so many SMs takes; 0 where the kernel cannot run.
uint32_t SingleEpisodes(int capability, tile::Operand operand, int multiprocessors);

// As of EnqueueResidentSequence.
cudaError_t EnqueueSingleSequence(const LaunchArguments& launch, tile::Operand operand,
                                  const std::byte* image, const float* biases, int multiprocessors,
                                  cudaStream_t stream);

}  // namespace vixen::kernels
