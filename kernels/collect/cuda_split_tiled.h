// SPDX-License-Identifier: Apache-2.0
// tiled_mma in fp32: split products, as of cuda_mma_tiled.h.
#pragma once

#include <cuda_runtime_api.h>

#include "kernels/collect/cuda_batched_phase.h"

namespace vixen::kernels {

cudaError_t EnqueueSplitSequence(const LaunchArguments& launch, const TilePolicy& policy,
                                 int multiprocessors, cudaStream_t stream);
cudaError_t EnqueueSplitBatch(const LaunchArguments& launch, const TilePolicy& policy,
                              int multiprocessors, cudaStream_t stream);

}  // namespace vixen::kernels
