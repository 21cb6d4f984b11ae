// SPDX-License-Identifier: Apache-2.0
// The resident algorithm (sm_90): one block a multiprocessor holds the whole online network, layers
// 0, 1 and 3 in registers and layer 2 in shared memory, and steps 1 … 16 episodes with it: the
// least time a step. fp16 operands, float32 sums. Default hidden widths, S ≤ 64.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/collect/cuda_tiled.h"

namespace vixen::kernels {

// Most episodes that the algorithm takes on this device, 0: cannot run there.
uint32_t ResidentEpisodes(int capability, int multiprocessors);

// `network.image` is the resident image (fragments).
cudaError_t EnqueueResidentSequence(const LaunchArguments& launch, const TileNetwork& network,
                                    int multiprocessors, cudaStream_t stream);

}  // namespace vixen::kernels
