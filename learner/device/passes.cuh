// SPDX-License-Identifier: Apache-2.0
// A layer for the rows of one block: the rows' inputs lie in shared memory, the weights come as an
// operand image from L2, each element once a block. D is [outputs, rows]: the outputs are m, the
// rows of the minibatch n.
#pragma once

#include <cstdint>

#include "learner/device/network_layout.h"
#include "learner/device/operand.cuh"

namespace vixen::learner {

inline constexpr int kPassWarps = 16;
inline constexpr int kPassThreads = 32 * kPassWarps;

template <typename Type>
__host__ __device__ constexpr uint32_t RowBytes(uint32_t widest) {
  return PassRowBytes(widest, static_cast<uint32_t>(sizeof(Type)));
}

// Sums of this warp's tiles (warp, warp + 16, …) for all rows of the block.
template <DevicePrecision kPrecision, int kTiles, int kRows>
struct Product {
  using Type = typename Operand<kPrecision>::Type;
  static constexpr int kColumns = kRows / 8;
  // Steps that are loaded ahead: enough bytes under way to cover L2's latency, within registers.
  static constexpr int kBudget = kRows <= 32 ? 8 : 4;
  static constexpr int kAhead = kBudget / kTiles < 1 ? 1 : kBudget / kTiles;

  float sum[kTiles][kColumns][4];
  uint4 even[kAhead][kTiles], odd[kAhead][kTiles];
  const uint4* image;
  int tiles, steps;

  __device__ __forceinline__ void Load(uint4 (&a)[kAhead][kTiles], int first) const {
    const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int s = 0; s < kAhead; ++s) {
#pragma unroll
      for (int i = 0; i < kTiles; ++i) {
        const int tile = warp + kPassWarps * i;
        if (tile < tiles && first + s < steps) {
          a[s][i] = __ldcg(image + (tile * steps + first + s) * 32 + lane);
        }
      }
    }
  }

  __device__ __forceinline__ void Multiply(const uint4 (&a)[kAhead][kTiles], uint32_t rows_at,
                                           uint32_t row_bytes, int first) {
    const int warp = static_cast<int>(threadIdx.x / 32);
#pragma unroll
    for (int s = 0; s < kAhead; ++s) {
      if (first + s >= steps) break;
#pragma unroll
      for (int pair = 0; pair < kColumns / 2; ++pair) {
        uint32_t b[4];
        LoadMatrices(b, rows_at + static_cast<uint32_t>(pair) * 16 * row_bytes +
                            static_cast<uint32_t>(first + s) * 32);
#pragma unroll
        for (int i = 0; i < kTiles; ++i) {
          if (warp + kPassWarps * i >= tiles) continue;
          const uint32_t fragment[4] = {a[s][i].x, a[s][i].y, a[s][i].z, a[s][i].w};
          Operand<kPrecision>::Mma(sum[i][2 * pair], fragment, b[0], b[1]);
          Operand<kPrecision>::Mma(sum[i][2 * pair + 1], fragment, b[2], b[3]);
        }
      }
    }
  }

  // Begins to load the weights of a layer of `outputs` × `inputs`, both padded.
  __device__ __forceinline__ void Start(const Type* layer, uint32_t outputs, uint32_t inputs) {
    image = reinterpret_cast<const uint4*>(layer);
    tiles = static_cast<int>(outputs / 16);
    steps = static_cast<int>(inputs) / kStepOf<Type>;
    Load(even, 0);
    Load(odd, kAhead);
  }

  // After Start; `shared`: the rows' inputs.
  __device__ __forceinline__ void Run(const void* shared, uint32_t row_bytes) {
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t rows_at =
        SharedAddress(shared) + (lane / 16 * 8 + lane % 8) * row_bytes + lane / 8 % 2 * 16;
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
#pragma unroll
      for (int n = 0; n < kColumns; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) sum[i][n][e] = 0.0f;
      }
    }
    if (static_cast<int>(threadIdx.x / 32) >= tiles) return;
#pragma unroll 1
    for (int first = 0; first < steps; first += 2 * kAhead) {
      Multiply(even, rows_at, row_bytes, first);
      Load(even, first + 2 * kAhead);
      Multiply(odd, rows_at, row_bytes, first + kAhead);
      Load(odd, first + 3 * kAhead);
    }
  }

  // visit(output, row in the block, value, value of the next row) for every pair of sums.
  template <typename Visit>
  __device__ __forceinline__ void ForEach(uint32_t outputs, Visit&& visit) {
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      const uint32_t output = (warp + kPassWarps * static_cast<uint32_t>(i)) * 16 + lane / 4;
      if (output >= outputs) continue;
#pragma unroll
      for (int n = 0; n < kColumns; ++n) {
        const uint32_t row = static_cast<uint32_t>(n) * 8 + lane % 4 * 2;
        visit(output, row, sum[i][n][0], sum[i][n][1]);
        visit(output + 8, row, sum[i][n][2], sum[i][n][3]);
      }
    }
  }
};

// Two neighbouring rows of one feature of a transposed buffer.
__device__ __forceinline__ void StorePair(float* to, float first, float second) {
  *reinterpret_cast<float2*>(to) = make_float2(first, second);
}
__device__ __forceinline__ void StorePair(__nv_bfloat16* to, __nv_bfloat16 first,
                                          __nv_bfloat16 second) {
  *reinterpret_cast<__nv_bfloat162*>(to) = __halves2bfloat162(first, second);
}
__device__ __forceinline__ float2 LoadPair(const float* from) {
  return *reinterpret_cast<const float2*>(from);
}
__device__ __forceinline__ float2 LoadPair(const __nv_bfloat16* from) {
  return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(from));
}

// Element [row, column] of the shared inputs.
template <typename Type>
__device__ __forceinline__ Type& SharedAt(void* shared, uint32_t row_bytes, uint32_t row,
                                          uint32_t column) {
  return *reinterpret_cast<Type*>(static_cast<char*>(shared) + row * row_bytes +
                                  column * sizeof(Type));
}

}  // namespace vixen::learner
