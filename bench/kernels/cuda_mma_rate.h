// SPDX-License-Identifier: Apache-2.0
// What mma.sync reaches on a card: the ceiling of the algorithms for cards without wgmma, wherever
// they run.
#pragma once

#include <cuda_runtime_api.h>

namespace vixen::bench {

// m16n8k16 of fp16 or m16n8k8 of tf32, float32 sums.
enum class MmaShape { kFp16, kTf32 };

// Work of one EnqueueMmaRate on `multiprocessors` SMs.
double MmaRateFlops(MmaShape shape, int multiprocessors);
// Products of random operands that stay in registers, eight chains a warp and eight warps an SM.
// `sink`: device memory for one float, never written. sm_80 and later; nothing before.
cudaError_t EnqueueMmaRate(MmaShape shape, int multiprocessors, float* sink, cudaStream_t stream);

}  // namespace vixen::bench
