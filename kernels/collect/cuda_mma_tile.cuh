// SPDX-License-Identifier: Apache-2.0
// The network pass of cards without wgmma (sm_80 … sm_89; runs on sm_90 as well): 64 rows in 4
// warps, products by mma.sync. A warp multiplies all rows by its share of a layer's neurons, so
// that a weight goes from the L2 cache to the registers of the one warp that needs it, read once
// for 64 rows, and the warps meet only where a layer ends. Activations wait in shared memory as the
// fragments that they are read as. In 49 KB, so that two blocks share an SM and one multiplies
// while the other activates, chooses and steps. Operands are fp16: as they are, or scaled by powers
// of two (tf32, whose 11 significant bits they are).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/collect/cuda_mma_products.cuh"
#include "kernels/collect/cuda_operand.cuh"
#include "kernels/collect/cuda_tile_q.cuh"

namespace vixen::kernels {

// Activations of a warp's neurons as A operands.
using MmaWords = uint32_t[tile::kMmaHalves][tile::kMmaWarps][4 * tile::kMmaGroups];

__device__ __forceinline__ uint4 FourWords(const uint32_t* words) {
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// Of one half; `bias` of its neurons, null: none.
template <bool kScaled>
__device__ __forceinline__ void MmaActivate(
    const MmaSums& d, float scale, const float* bias, int quad,
    uint32_t (&words)[tile::kMmaWarps][4 * tile::kMmaGroups]) {
  const auto biased = [scale](float sum, float add) {
    return kScaled ? fmaf(sum, scale, add) : sum + add;
  };
#pragma unroll
  for (int j = 0; j < 2 * tile::kMmaGroups; ++j) {
    const float2 b = BiasAt(bias, j, quad);
#pragma unroll
    for (int m = 0; m < tile::kMmaWarps; ++m) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float* sums = d[m] + 4 * j + 2 * r;
        words[m][4 * (j / 2) + 2 * (j % 2) + r] =
            PackRectified(biased(sums[0], b.x), biased(sums[1], b.y));
      }
    }
  }
}

// One layer of half of the warp's neurons: use(half, sums), `half` a constant.
template <int kHalf, int kSteps, typename Use>
__device__ __forceinline__ void MmaHalfLayer(const MmaMemory& memory, MmaStream& stream,
                                             const uint4* then, const Use& use) {
  MmaSums d;
#pragma unroll
  for (int m = 0; m < tile::kMmaWarps; ++m) {
#pragma unroll
    for (int i = 0; i < 8 * tile::kMmaGroups; ++i) d[m][i] = 0.0f;
  }
  MmaProducts<kSteps, kHalf * kSteps % kMmaAhead>(d, memory, stream, then);
  use(std::integral_constant<int, kHalf>(), d);
}
template <int kSteps, typename Use>
__device__ __forceinline__ void MmaLayer(const MmaMemory& memory, MmaStream& stream,
                                         const uint4* then, const Use& use) {
  static_assert(tile::kMmaHalves == 2);
  MmaHalfLayer<0, kSteps>(memory, stream, nullptr, use);
  MmaHalfLayer<1, kSteps>(memory, stream, then, use);
}

// The warp's activations to where all warps read them.
__device__ __forceinline__ void PutActivations(MmaMemory& memory, const MmaWords& words) {
  const int lane = threadIdx.x % 32;
  const int first = threadIdx.x / 32 * (tile::kMmaNeurons / 16);
#pragma unroll
  for (int half = 0; half < tile::kMmaHalves; ++half) {
#pragma unroll
    for (int m = 0; m < tile::kMmaWarps; ++m) {
#pragma unroll
      for (int group = 0; group < tile::kMmaGroups; ++group) {
        memory.rows[m][first + half * tile::kMmaGroups + group][lane] =
            FourWords(words[half][m] + 4 * group);
      }
    }
  }
}

// The warp's share of the value: its activations of the value stream times the last weights.
__device__ __forceinline__ void AddValue(const MmaSums& d, float scale, const float* bias,
                                         const float* weights, int quad,
                                         float (&value)[tile::kMmaWarps][2]) {
#pragma unroll
  for (int j = 0; j < 2 * tile::kMmaGroups; ++j) {
    const float2 b = BiasAt(bias, j, quad);
    const float2 w = BiasAt(weights, j, quad);
#pragma unroll
    for (int m = 0; m < tile::kMmaWarps; ++m) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float* sums = d[m] + 4 * j + 2 * r;
        value[m][r] = fmaf(LeakyRelu(fmaf(sums[0], scale, b.x)), w.x, value[m][r]);
        value[m][r] = fmaf(LeakyRelu(fmaf(sums[1], scale, b.y)), w.y, value[m][r]);
      }
    }
  }
}

// Q of the warp's 16 rows, whose states are `state`. All warps of the block take part. `image`: the
// network's; `then`: where the stream goes on, as of MmaStream::Of.
template <Operand kOperand>
__device__ __forceinline__ TileQ MmaNetworkPass(MmaMemory& memory, MmaStream& stream,
                                                const tile::NetworkConstants& constants,
                                                const std::byte* image, const uint4* then,
                                                const StateFragment<kOperand>& state) {
  constexpr bool kScaled = kOperand != Operand::kFp16;
  constexpr int kHalfNeurons = 16 * tile::kMmaGroups;
  const int lane = threadIdx.x % 32;
  const int quad = lane % 4;
  const int warp = threadIdx.x / 32;
  const int first = tile::kMmaNeurons * warp;
#pragma unroll
  for (int step = 0; step < tile::kMmaStateSteps; ++step) {
    memory.rows[warp][step][lane] = FourWords(state.word + 4 * step);
  }
  __syncthreads();
  {
    MmaWords words;
    MmaLayer<tile::kMmaStateSteps>(memory, stream, nullptr, [&](auto half, const MmaSums& d) {
      MmaActivate<kScaled>(d, constants.scale[0], nullptr, quad, words[half]);
    });
    __syncthreads();  // all have read what this takes the place of
    PutActivations(memory, words);
    __syncthreads();
  }
  {
    MmaWords words;
    MmaLayer<tile::kMmaHiddenSteps>(memory, stream, nullptr, [&](auto half, const MmaSums& d) {
      const float* bias = constants.bias1 + first + kHalfNeurons * half;
      MmaActivate<kScaled>(d, constants.scale[1], bias, quad, words[half]);
    });
    __syncthreads();
    PutActivations(memory, words);
    __syncthreads();
  }
  {
    // Both streams: the first two warps have the value's neurons, the others the advantage's.
    const bool has_value = warp < tile::kMmaWarps / 2;
    MmaWords words;
    float value[tile::kMmaWarps][2] = {};
    MmaLayer<tile::kMmaHiddenSteps>(memory, stream, then, [&](auto half, const MmaSums& d) {
      const float* bias = constants.bias2 + first + kHalfNeurons * half;
      if (has_value) {
        const float* weights = constants.value + first + kHalfNeurons * half;
        AddValue(d, constants.scale[2], bias, weights, quad, value);
      } else {
        MmaActivate<kScaled>(d, constants.scale[2], bias, quad, words[half]);
      }
    });
    if (has_value) {
#pragma unroll
      for (int i = 0; i < 2 * tile::kMmaWarps; ++i) {
        const float sum = QuadSum(value[i / 2][i % 2]);
        if (quad == 0) memory.value[warp][8 * i + lane / 4] = sum;
      }
    }
    __syncthreads();
    if (!has_value) PutActivations(memory, words);
    __syncthreads();
  }
  float out[24];
  MmaOwnRows<tile::kOutputs / 16, tile::kMmaLastSteps>(
      out, image + tile::kMmaWarps * tile::kMmaWarpBytes, [&](int step) {
        return memory.rows[warp][tile::kMmaHiddenSteps - tile::kMmaLastSteps + step][lane];
      });
  TileQ q;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = 16 * warp + 8 * r + lane / 4;
    q.base[r] = memory.value[0][row] + memory.value[1][row] + constants.value_bias;
  }
  AdvantageOf(out, constants, quad, q);
  return q;
}

// Sums of the curiosity model's last layer for the warp's 16 rows.
template <Operand kOperand>
__device__ __forceinline__ void MmaCuriosityPass(const std::byte* image,
                                                 const tile::CuriosityConstants& constants,
                                                 const StateFragment<kOperand>& state,
                                                 const int (&category)[2], float (&out)[16]) {
  float h0[32];
  MmaOwnRows<4, tile::kMmaStateSteps>(h0, image,
                                      [&](int step) { return FourWords(state.word + 4 * step); });
  uint32_t words[16];
  Activate<Operand::kFp16, 64, kOperand != Operand::kFp16>(
      h0, constants.scale[0], constants.bias0[category[0]], constants.bias0[category[1]],
      threadIdx.x % 4, words);
  MmaOwnRows<2, 4>(out, image + tile::MmaMatrixBytes(64, tile::kStateWidth),
                   [&](int step) { return FourWords(words + 4 * step); });
}

}  // namespace vixen::kernels
