// SPDX-License-Identifier: Apache-2.0
// Products of the mma.sync tiles: A operands of all rows from shared memory, a warp's own weights
// from the L2 cache, several steps ahead in registers. sm_80 and later.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/collect/cuda_mma.cuh"
#include "kernels/collect/cuda_mma_layout.h"

namespace vixen::kernels {

inline constexpr int kMmaThreads = 32 * tile::kMmaWarps;
inline constexpr int kMmaBlocks = 2;  // of an SM
// Steps on their way. A pass takes a multiple of them, so that each begins where the last one did.
inline constexpr int kMmaAhead = 8;
static_assert(tile::kMmaHalves * tile::kMmaStateSteps % kMmaAhead == 0 &&
              tile::kMmaHiddenSteps % kMmaAhead == 0);

// Of a warp: [16 rows][a fragment's 8 a block of 16 neurons].
using MmaSums = float[tile::kMmaWarps][8 * tile::kMmaGroups];

struct alignas(16) MmaMemory {
  // A operands of 16 rows each. A pass begins with states as the first steps; each layer's
  // activations take the place of what it was computed from.
  uint4 rows[tile::kMmaWarps][tile::kMmaHiddenSteps][32];
  float value[2][tile::kMmaRows];  // shares of the two warps that have the value stream
};

// A warp's weights on their way from L2, past L1, which keeps what all warps read.
struct MmaStream {
  const uint4* next;  // the lane's words of the step behind those on their way
  uint4 way[kMmaAhead][tile::kMmaGroups];

  __device__ __forceinline__ static const uint4* Of(const std::byte* image) {
    return reinterpret_cast<const uint4*>(image + threadIdx.x / 32 * tile::kMmaWarpBytes) +
           threadIdx.x % 32;
  }
  __device__ __forceinline__ explicit MmaStream(const uint4* from) : next(from) {
#pragma unroll
    for (int step = 0; step < kMmaAhead; ++step) {
#pragma unroll
      for (int group = 0; group < tile::kMmaGroups; ++group) Fetch(step, group);
      Advance();
    }
  }
  // A fragment of the step behind takes the place of one that is multiplied.
  __device__ __forceinline__ void Fetch(int step, int group) {
    uint4& v = way[step][group];
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(next + 32 * group));
  }
  __device__ __forceinline__ void Advance() { next += 32 * tile::kMmaGroups; }
};

__device__ __forceinline__ void MmaPair(float* d, const uint4& a, const uint4& b) {
  const uint32_t words[4] = {a.x, a.y, a.z, a.w};
  MmaF16(d, words, b.x, b.y);
  MmaF16(d + 4, words, b.z, b.w);
}

// d += all rows × the next kSteps steps of the warp's weights, of which the first is at `kPlace` of
// those on their way. `then`: what is read once the image ends, which it does here unless null.
template <int kSteps, int kPlace>
__device__ __forceinline__ void MmaProducts(MmaSums& d, const MmaMemory& memory, MmaStream& stream,
                                            const uint4* then) {
  constexpr int kTurn = kSteps < kMmaAhead ? kSteps : kMmaAhead;
  const int lane = threadIdx.x % 32;
  uint4 a[2][tile::kMmaWarps];
#pragma unroll
  for (int m = 0; m < tile::kMmaWarps; ++m) a[0][m] = memory.rows[m][0][lane];
#pragma unroll 1
  for (int first = 0; first < kSteps; first += kTurn) {
    if (then != nullptr && first + kMmaAhead == kSteps) stream.next = then;
#pragma unroll
    for (int i = 0; i < kTurn; ++i) {
      const int behind = first + i + 1;
      if (behind < kSteps) {
#pragma unroll
        for (int m = 0; m < tile::kMmaWarps; ++m) {
          a[(i + 1) % 2][m] = memory.rows[m][behind][lane];
        }
      }
#pragma unroll
      for (int group = 0; group < tile::kMmaGroups; ++group) {
#pragma unroll
        for (int m = 0; m < tile::kMmaWarps; ++m) {
          MmaPair(d[m] + 8 * group, a[i % 2][m], stream.way[kPlace + i][group]);
        }
        stream.Fetch(kPlace + i, group);
      }
      stream.Advance();
    }
  }
}

// d = rows × a matrix that all warps read, `a(step)` the warp's own 16 rows.
template <int kGroups, int kSteps, typename Rows>
__device__ __forceinline__ void MmaOwnRows(float (&d)[8 * kGroups], const std::byte* weights,
                                           const Rows& a) {
  const uint4* from = reinterpret_cast<const uint4*>(weights) + threadIdx.x % 32;
#pragma unroll
  for (float& sum : d) sum = 0.0f;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      MmaPair(d + 8 * group, a(step), __ldg(from + 32 * (step * kGroups + group)));
    }
  }
}

}  // namespace vixen::kernels
