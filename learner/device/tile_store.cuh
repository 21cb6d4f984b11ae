// SPDX-License-Identifier: Apache-2.0
// Where a pass puts its outputs: over the block's inputs, and for the weights' gradients into
// transposed buffers. sm_90a.
#pragma once

#include <cstdint>

#include "learner/device/tile_cache.cuh"
#include "learner/device/tile_quarters.cuh"
#include "learner/device/tile_table.cuh"

namespace vixen::learner::tile {

// A thread's places in the block's inputs and in a transposed buffer: of its outputs o and o + 8,
// rows 2·(lane % 4) and the next of each eight rows.
template <uint32_t kRows>
struct Places {
  uint32_t output;     // o
  uint32_t shared[2];  // byte of [row, o], [row + 1, o] for the first eight rows
  uint32_t to;         // byte of [o, row] in the first 32 rows

  static __device__ __forceinline__ Places Here() {
    const uint32_t lane = threadIdx.x % 32, row = lane % 4 * 2;
    Places places;
    places.output = threadIdx.x / 32 * 16 + lane / 4;
    places.shared[0] = InputByte(kRows, row, places.output);
    places.shared[1] = InputByte(kRows, row + 1, places.output);
    places.to = Swizzled(places.output, RowPlace(row) * 4);
    return places;
  }

  // The values of the j-th eight rows, in the order of Pass::sum, over the block's inputs.
  __device__ __forceinline__ void Store(char* inputs, uint32_t j, const float* value) const {
    char* const eight = inputs + j * 1024;
    *reinterpret_cast<float*>(eight + shared[0]) = value[0];
    *reinterpret_cast<float*>(eight + shared[1]) = value[1];
    *reinterpret_cast<float*>(eight + (shared[0] ^ 32)) = value[2];
    *reinterpret_cast<float*>(eight + (shared[1] ^ 32)) = value[3];
  }

  // Sixteen of 32 rows, the first or the second, into their block of a transposed buffer, which is
  // to stay in L2 or not.
  template <bool kKept>
  __device__ __forceinline__ void StoreTransposed(char* block, uint32_t half,
                                                  const float* value) const {
    auto* const low = reinterpret_cast<float4*>(block + (to ^ half * 64));
    auto* const high = low + 1024 / sizeof(float4);
    const float4 of_low = make_float4(value[0], value[1], value[4], value[5]);
    const float4 of_high = make_float4(value[2], value[3], value[6], value[7]);
    if constexpr (kKept) {
      tile::Store(low, of_low, KeptInL2());
      tile::Store(high, of_high, KeptInL2());
    } else {
      __stcs(low, of_low);
      __stcs(high, of_high);
    }
  }
};

// Zeros for the outputs that pad a layer's to whole tiles of inputs.
template <uint32_t kRows>
__device__ __forceinline__ void StoreZeros(char* shared) {
  const auto places = Places<kRows>::Here();
#pragma unroll 1
  for (uint32_t j = 0; j < kRows / 8; ++j) {
    for (const uint32_t place : places.shared) {
      *reinterpret_cast<float*>(shared + j * 1024 + place) = 0.0f;
      *reinterpret_cast<float*>(shared + j * 1024 + (place ^ 32)) = 0.0f;
    }
  }
}

// `kept` chunks of 32 rows of the block's inputs, of `width` columns, from one to the next 1 <<
// shift, into a transposed buffer from `to` on; by the two warpgroups that begin last.
template <uint32_t kRows>
__device__ __forceinline__ void StoreTransposed(const char* shared, uint32_t width, uint32_t shift,
                                                uint32_t kept, char* to) {
  const uint32_t lane = threadIdx.x % 32, chunks = width / 4;
  if (Group() + 2 < kGroups) return;
  for (uint32_t i = threadIdx.x / 32 - (kGroups - 2) * 4; i < kept * chunks; i += 8) {
    const uint32_t block = i / chunks, column = i % chunks * 4;
    const float4 four = *reinterpret_cast<const float4*>(
        shared + InputByte(kRows, (block << shift) * 32 + lane, column));
    const float value[4] = {four.x, four.y, four.z, four.w};
    char* const rows = to + block * PaddedFeatures(width) * 128;
#pragma unroll
    for (uint32_t c = 0; c < 4; ++c) {
      *reinterpret_cast<float*>(rows + Swizzled(column + c, RowPlace(lane) * 4)) = value[c];
    }
  }
}

}  // namespace vixen::learner::tile
