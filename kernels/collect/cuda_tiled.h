// SPDX-License-Identifier: Apache-2.0
// The tiled algorithm (sm_90): a block carries 64 or 128 episodes, or rows, and streams the weights
// through shared memory into wgmma. Every precision. Default hidden widths, 29 ≤ F ≤ 59.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/collect/cuda_batched_phase.h"

namespace vixen::kernels {

// Whether the device can run the tile kernels at all.
bool TiledRuns(int capability);

// Loop over the steps of every slot: online network and rules. By value: no device copy is read.
cudaError_t EnqueueTiledSequence(const LaunchArguments& launch, const TilePolicy& policy,
                                 int multiprocessors, cudaStream_t stream);
}  // namespace vixen::kernels
