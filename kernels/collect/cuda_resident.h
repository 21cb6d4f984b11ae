// SPDX-License-Identifier: Apache-2.0
// The resident algorithm (sm_90): a cluster of two blocks holds the whole online network in
// registers and shared memory and steps 2 … 16 episodes with it, one half of the hidden layers a
// block: the least time a step. fp16, tf32 or fp32 by split products, float32 sums. Widths as of
// the tile kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/collect/cuda_launch.h"
#include "kernels/collect/cuda_tile_layout.h"

namespace vixen::kernels {

// Blocks that run at once on the current device, from its occupancy: an even number, 0 where the
// kernel cannot run.
uint32_t ResidentBlocks(int capability, tile::Operand operand);
// Most episodes that so many blocks take.
uint32_t ResidentEpisodes(uint32_t blocks);

// The steps of every slot: online network and rules. By value: no device copy is read. `image` is
// the resident image in the layout of `operand`, `biases` the online network's.
cudaError_t EnqueueResidentSequence(const LaunchArguments& launch, tile::Operand operand,
                                    const std::byte* image, const float* biases, uint32_t blocks,
                                    cudaStream_t stream);

}  // namespace vixen::kernels
