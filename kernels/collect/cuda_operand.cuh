// SPDX-License-Identifier: Apache-2.0
// A operands in registers, for each way of computing products: sixteen words hold a warp's 16 rows
// × one tile's inputs (64 in fp16, 32 in tf32, 32 split ones). How sums become the next layer's
// operands, and how states become the first layer's.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/collect/cuda_launch.h"
#include "kernels/collect/cuda_mma.cuh"
#include "kernels/collect/cuda_tile_layout.h"
#include "kernels/env/settings.h"

namespace vixen::kernels {

using tile::Operand;

// A tf32 operand: the matrix units ignore the low 13 bits, so half of the last kept one is added.
// Ranges are checked on the host (cuda_range.h): no infinity and no NaN comes here.
__device__ __forceinline__ uint32_t RoundTf32(float value) {
  return __float_as_uint(value) + 0x1000u;
}

// Two values as high parts and as low parts: value = high + low to 22 bits.
__device__ __forceinline__ void Split(float a, float b, uint32_t& high, uint32_t& low) {
  high = PackHalf(a, b);
  const float2 back = __half22float2(*reinterpret_cast<const __half2*>(&high));
  low = PackHalf(a - back.x, b - back.y);
}

// Keeps the compiler from computing an operand again where it is used: a register written between
// a fence and the product that reads it would hold the products up.
__device__ __forceinline__ void Settle(uint32_t& word) { asm volatile("" : "+r"(word)::"memory"); }

__device__ __forceinline__ float2 BiasAt(const float* bias, int block, int quad) {
  if (bias == nullptr) return make_float2(0.0f, 0.0f);
  return *reinterpret_cast<const float2*>(bias + 8 * block + 2 * quad);
}

// Sums of kNeurons → A operands. The activation is LeakyRelu(scale · sum + bias) with the biases of
// rows lane/4 and + 8; null: none. fp16 has no scale unless `kScaled`.
template <Operand kOperand, int kNeurons, bool kScaled = kOperand != Operand::kFp16>
__device__ __forceinline__ void Activate(const float (&d)[kNeurons / 2], float scale,
                                         const float* bias_low, const float* bias_high, int quad,
                                         uint32_t* a) {
#pragma unroll
  for (int j = 0; j < kNeurons / 8; ++j) {
    const float2 low = BiasAt(bias_low, j, quad);
    const float2 high = BiasAt(bias_high, j, quad);
    if constexpr (kOperand == Operand::kFp16) {
      uint32_t* to = a + 4 * (j / 2) + 2 * (j % 2);
      const auto biased = [scale](float sum, float bias) {
        return kScaled ? fmaf(sum, scale, bias) : sum + bias;
      };
      to[0] = PackRectified(biased(d[4 * j], low.x), biased(d[4 * j + 1], low.y));
      to[1] = PackRectified(biased(d[4 * j + 2], high.x), biased(d[4 * j + 3], high.y));
    } else if constexpr (kOperand == Operand::kTf32) {
      uint32_t* to = a + 4 * j;
      to[0] = RoundTf32(LeakyRelu(fmaf(d[4 * j], scale, low.x)));
      to[1] = RoundTf32(LeakyRelu(fmaf(d[4 * j + 2], scale, high.x)));
      to[2] = RoundTf32(LeakyRelu(fmaf(d[4 * j + 1], scale, low.y)));
      to[3] = RoundTf32(LeakyRelu(fmaf(d[4 * j + 3], scale, high.y)));
    } else {
      uint32_t* to = a + 8 * (j / 2) + 2 * (j % 2);
      Split(LeakyRelu(fmaf(d[4 * j], scale, low.x)), LeakyRelu(fmaf(d[4 * j + 1], scale, low.y)),
            to[0], to[4]);
      Split(LeakyRelu(fmaf(d[4 * j + 2], scale, high.x)),
            LeakyRelu(fmaf(d[4 * j + 3], scale, high.y)), to[1], to[5]);
    }
  }
#pragma unroll
  for (int i = 0; i < kNeurons * 16 / tile::TileInputs(kOperand); ++i) Settle(a[i]);
}

// A quad lane's 16 columns of one row's state: fp16 pairs, or floats.
template <Operand kOperand>
struct StateRow {
  uint32_t word[kOperand == Operand::kFp16 ? 8 : 16];
};

template <Operand kOperand>
__device__ __forceinline__ StateRow<kOperand> LoadStateRow(const DeviceMarket& market, uint32_t bar,
                                                           const float* portfolio, int quad) {
  StateRow<kOperand> row;
  if constexpr (kOperand == Operand::kFp16) {
    const uint4* source =
        reinterpret_cast<const uint4*>(market.packed + static_cast<size_t>(bar) * 64) + 2 * quad;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const uint4 four = source[i];
      row.word[4 * i] = four.x;
      row.word[4 * i + 1] = four.y;
      row.word[4 * i + 2] = four.z;
      row.word[4 * i + 3] = four.w;
    }
    if (quad == 3) {
      row.word[6] = PackHalf(1.0f, portfolio[0]);
      row.word[7] = PackHalf(portfolio[1], portfolio[2]);
    }
  } else {
    const float* source = market.features + static_cast<size_t>(bar) * market.stride;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t column = 16 * quad + 4 * i;
      uint4 four = make_uint4(0, 0, 0, 0);
      if (column < market.stride) four = *reinterpret_cast<const uint4*>(source + column);
      row.word[4 * i] = four.x;
      row.word[4 * i + 1] = four.y;
      row.word[4 * i + 2] = four.z;
      row.word[4 * i + 3] = four.w;
    }
    if (quad == 3) {
      row.word[11] = row.word[12] = __float_as_uint(1.0f);
#pragma unroll
      for (int i = 0; i < kPortfolioFeatures; ++i) {
        row.word[13 + i] = __float_as_uint(portfolio[i]);
      }
    }
  }
  return row;
}

// The first layer's operands of two rows; `scale` as of StateScale.
template <Operand kOperand>
struct StateFragment {
  uint32_t word[kOperand == Operand::kSplit ? 32 : 16];
};

template <Operand kOperand>
__device__ __forceinline__ StateFragment<kOperand> FragmentOf(const StateRow<kOperand>& low,
                                                              const StateRow<kOperand>& high,
                                                              float scale) {
  StateFragment<kOperand> fragment;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if constexpr (kOperand == Operand::kFp16) {
      fragment.word[2 * i] = low.word[i];
      fragment.word[2 * i + 1] = high.word[i];
    } else {
      const auto scaled = [scale](uint32_t word) { return __uint_as_float(word) * scale; };
      const float low_pair[2] = {scaled(low.word[2 * i]), scaled(low.word[2 * i + 1])};
      const float high_pair[2] = {scaled(high.word[2 * i]), scaled(high.word[2 * i + 1])};
      if constexpr (kOperand == Operand::kTf32) {
        fragment.word[2 * i] = PackHalf(low_pair[0], low_pair[1]);
        fragment.word[2 * i + 1] = PackHalf(high_pair[0], high_pair[1]);
      } else {
        // High parts of a step of 16 inputs, then its low parts.
        uint32_t* to = fragment.word + 8 * (i / 2) + 2 * (i % 2);
        Split(low_pair[0], low_pair[1], to[0], to[4]);
        Split(high_pair[0], high_pair[1], to[1], to[5]);
      }
    }
  }
#pragma unroll
  for (uint32_t& word : fragment.word) Settle(word);
  return fragment;
}

}  // namespace vixen::kernels
