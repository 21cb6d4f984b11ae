// SPDX-License-Identifier: Apache-2.0
// The tiled algorithm without wgmma: sm_80, 86, 89 (and, by force, sm_90). A block carries 64
// episodes, or rows, in 4 warps; two blocks share an SM, 49 KB of shared memory each. Every
// precision; widths as of the tile kernels. `policy` holds images of the
// form kFragments (cuda_tile_image.h).
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/collect/cuda_batched_phase.h"

namespace vixen::kernels {

// Whether the device can run these kernels.
bool MmaTiledRuns(int capability);

// As of EnqueueTiledSequence and EnqueueBatchedPhase.
cudaError_t EnqueueMmaSequence(const LaunchArguments& launch, const TilePolicy& policy,
                               int multiprocessors, cudaStream_t stream);
cudaError_t EnqueueMmaBatch(const LaunchArguments& launch, const TilePolicy& policy,
                            int multiprocessors, cudaStream_t stream);

}  // namespace vixen::kernels
