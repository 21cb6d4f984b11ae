// SPDX-License-Identifier: Apache-2.0
// The networks' heads and the greedy action over a warp's 16 rows, as the tile kernels hold them: a
// quad of lanes shares rows lane/4 (index 0) and lane/4 + 8 (index 1).
#pragma once

#include <cstdint>

#include "kernels/collect/cuda_mma.cuh"
#include "kernels/collect/cuda_rows.cuh"
#include "kernels/collect/cuda_tile_layout.h"
#include "kernels/env/settings.h"

namespace vixen::kernels {

// This lane's columns 8·j + 2·quad + u of both rows' Q.
struct TileQ {
  float advantage[2][12];  // [row][2·j + u], bias added; zero beyond the 45 actions
  float base[2];           // value − mean(advantage)
};

__device__ __forceinline__ float QuadSum(float x) {
  x += __shfl_xor_sync(kAllLanes, x, 1);
  return x + __shfl_xor_sync(kAllLanes, x, 2);
}
__device__ __forceinline__ float QuadMax(float x) {
  x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 1));
  return fmaxf(x, __shfl_xor_sync(kAllLanes, x, 2));
}

// The value stream's sums → the value in q.base.
__device__ __forceinline__ void ValueOf(const float (&h2)[64],
                                        const tile::NetworkConstants& constants, float scale,
                                        int quad, TileQ& q) {
  float low = 0.0f;
  float high = 0.0f;
#pragma unroll
  for (int j = 0; j < 16; ++j) {
    const float2 b = *reinterpret_cast<const float2*>(constants.bias2 + 8 * j + 2 * quad);
    const float2 w = *reinterpret_cast<const float2*>(constants.value + 8 * j + 2 * quad);
    low = fmaf(LeakyRelu(fmaf(h2[4 * j], scale, b.x)), w.x, low);
    low = fmaf(LeakyRelu(fmaf(h2[4 * j + 1], scale, b.y)), w.y, low);
    high = fmaf(LeakyRelu(fmaf(h2[4 * j + 2], scale, b.x)), w.x, high);
    high = fmaf(LeakyRelu(fmaf(h2[4 * j + 3], scale, b.y)), w.y, high);
  }
  q.base[0] = QuadSum(low) + constants.value_bias;
  q.base[1] = QuadSum(high) + constants.value_bias;
}

// The last layer's sums → advantages; their mean is taken off q.base.
__device__ __forceinline__ void AdvantageOf(const float (&out)[24],
                                            const tile::NetworkConstants& constants, int quad,
                                            TileQ& q) {
  const float scale = constants.scale[3];
  float sum[2] = {0.0f, 0.0f};
#pragma unroll
  for (int j = 0; j < 6; ++j) {
    const float2 bias = *reinterpret_cast<const float2*>(constants.advantage + 8 * j + 2 * quad);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      // Weights and bias beyond the 45 actions are zero.
      const float first = fmaf(out[4 * j + 2 * r], scale, bias.x);
      const float second = fmaf(out[4 * j + 2 * r + 1], scale, bias.y);
      q.advantage[r][2 * j] = first;
      q.advantage[r][2 * j + 1] = second;
      sum[r] += first + second;
    }
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) q.base[r] -= QuadSum(sum[r]) / static_cast<float>(kActions);
}

// What is added to the advantages of a lane's columns before the maximum: 0 for an allowed action,
// −∞ for another; [48] in shared memory.
__device__ __forceinline__ void FillMask(float* mask, uint64_t allowed) {
  if (threadIdx.x < tile::kOutputs) {
    mask[threadIdx.x] = (allowed >> threadIdx.x & 1) != 0 ? 0.0f : __int_as_float(0xff800000);
  }
}

// The lowest index of the largest over the allowed actions (GreedyAction), and its advantage; the
// same in the quad's lanes. A NaN never wins; all NaN: the lowest allowed action.
struct Greedy {
  int action;
  float advantage;
};
__device__ __forceinline__ Greedy QuadGreedy(const TileQ& q, int r, const float* mask,
                                             uint64_t allowed, int quad) {
  float masked[12];
#pragma unroll
  for (int j = 0; j < 6; ++j) {
    const float2 m = *reinterpret_cast<const float2*>(mask + 8 * j + 2 * quad);
    masked[2 * j] = q.advantage[r][2 * j] + m.x;
    masked[2 * j + 1] = q.advantage[r][2 * j + 1] + m.y;
  }
  float best = masked[0];
#pragma unroll
  for (int i = 1; i < 12; ++i) best = fmaxf(best, masked[i]);
  best = QuadMax(best);
  int place = 64;
#pragma unroll
  for (int i = 11; i >= 0; --i) {
    if (masked[i] == best) place = 8 * (i / 2) + i % 2;
  }
  int action = place + 2 * quad;
  action = min(action, __shfl_xor_sync(kAllLanes, action, 1));
  action = min(action, __shfl_xor_sync(kAllLanes, action, 2));
  if (action >= kActions) {
    action = __ffsll(static_cast<long long>(allowed)) - 1;
    best = __int_as_float(0x7fffffff);
  }
  return {action, best};
}

// Advantage of `action`, the same in the quad's lanes.
__device__ __forceinline__ float QuadAdvantage(const TileQ& q, int r, int action, int quad) {
  float mine = 0.0f;
  const int place = action - 2 * quad;
#pragma unroll
  for (int i = 0; i < 12; ++i) {
    if (place == 8 * (i / 2) + i % 2) mine = q.advantage[r][i];
  }
  return QuadSum(mine);
}

}  // namespace vixen::kernels
