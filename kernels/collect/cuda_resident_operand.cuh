// SPDX-License-Identifier: Apache-2.0
// Operands of the resident kernel's matrix instructions in each precision. A unit is four
// neighbouring columns of one row of activations, as the lane that multiplies them loads them; a
// fragment (cuda_resident_image.h) holds 16 neurons × 16 columns.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/collect/cuda_mma.cuh"
#include "kernels/collect/cuda_resident_image.h"

namespace vixen::kernels::resident {

using tile::Operand;

// To tf32's 11 significant bits, ties away from zero: the matrix units ignore the low 13 bits.
__device__ __forceinline__ uint32_t RoundedTf32(float value) {
  return __float_as_uint(value) + 0x1000u;
}

// Two neighbouring columns: fp16 one word; tf32 two; split (high halves, low halves · 2^11).
template <Operand kOperand>
struct OperandTraits {
  using Pair = uint2;
  using Unit = uint4;
};
template <>
struct OperandTraits<Operand::kFp16> {
  using Pair = uint32_t;
  using Unit = uint2;
};
template <Operand kOperand>
using PairOf = typename OperandTraits<kOperand>::Pair;
template <Operand kOperand>
using UnitOf = typename OperandTraits<kOperand>::Unit;

template <Operand kOperand>
__device__ __forceinline__ PairOf<kOperand> MakePair(float first, float second) {
  if constexpr (kOperand == Operand::kFp16) {
    return PackHalf(first, second);
  } else if constexpr (kOperand == Operand::kTf32) {
    return make_uint2(RoundedTf32(first), RoundedTf32(second));
  } else {
    constexpr float kLowScale = 2048.0f;
    const uint32_t high = PackHalf(first, second);
    const float2 seen = __half22float2(*reinterpret_cast<const __half2*>(&high));
    return make_uint2(high, PackHalf((first - seen.x) * kLowScale, (second - seen.y) * kLowScale));
  }
}

template <Operand kOperand>
__device__ __forceinline__ UnitOf<kOperand> MakeUnit(float a, float b, float c, float d) {
  const PairOf<kOperand> low = MakePair<kOperand>(a, b);
  const PairOf<kOperand> high = MakePair<kOperand>(c, d);
  if constexpr (kOperand == Operand::kFp16) {
    return make_uint2(low, high);
  } else {
    return make_uint4(low.x, low.y, high.x, high.y);
  }
}

template <Operand kOperand>
struct Fragment {
  static constexpr int kWords = FragmentWords(kOperand);
  uint32_t word[kWords];

  // `source`: this fragment's place in an image or in shared memory.
  __device__ __forceinline__ void Load(const uint4* source, int lane) {
#pragma unroll
    for (int i = 0; i < kWords / 4; ++i) {
      const uint4 v = source[32 * i + lane];
      word[4 * i] = v.x;
      word[4 * i + 1] = v.y;
      word[4 * i + 2] = v.z;
      word[4 * i + 3] = v.w;
    }
  }
};

// Sums of 16 neurons × 8 rows, kept in a few independent chains so that one product does not wait
// for the one before it. A lane has neurons lane/4 and + 8 of rows 2·(lane % 4) and + 1: value
// [2 · (neuron half) + row].
template <Operand kOperand, int kChains>
struct ChainedSums {
  static constexpr bool kSplit = kOperand == Operand::kSplit;
  static constexpr int kMain = kSplit ? (kChains + 1) / 2 : kChains;
  float main[kMain][4] = {};
  float low[kSplit ? 2 : 1][4] = {};  // of the products with a low half, · 2^11

  // Starts with a bias for each of the lane's two neurons.
  __device__ __forceinline__ ChainedSums(float first, float second) {
    main[0][0] = main[0][1] = first;
    main[0][2] = main[0][3] = second;
  }

  // `index`: the group's number; chains take turns.
  __device__ __forceinline__ void Add(int index, const Fragment<kOperand>& a,
                                      const UnitOf<kOperand>& b) {
    if constexpr (kOperand == Operand::kFp16) {
      MmaF16(main[index % kMain], a.word, b.x, b.y);
    } else if constexpr (kOperand == Operand::kTf32) {
      MmaTf32(main[2 * index % kMain], a.word, b.x, b.y);
      MmaTf32(main[(2 * index + 1) % kMain], a.word + 4, b.z, b.w);
    } else {
      MmaF16(main[index % kMain], a.word, b.x, b.z);
      MmaF16(low[0], a.word + 4, b.x, b.z);
      MmaF16(low[1], a.word, b.y, b.w);
    }
  }

  // In every lane.
  __device__ __forceinline__ void Total(float (&out)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float sum = main[0][i];
#pragma unroll
      for (int chain = 1; chain < kMain; ++chain) sum += main[chain][i];
      if constexpr (kSplit) sum += (low[0][i] + low[1][i]) * (1.0f / 2048.0f);
      out[i] = sum;
    }
  }
};

// The same where a tile's first four columns are the high halves of two rows, then their low
// halves: one product brings both. Totals are right in lanes of the first two columns.
template <Operand kOperand, int kChains>
struct TwoPartSums {
  static constexpr bool kSplit = kOperand == Operand::kSplit;
  static constexpr int kMain = kSplit ? (kChains + 1) / 2 : kChains;
  float main[kMain][4] = {};
  float low[kSplit ? kMain : 1][4] = {};  // of the weights' low halves, · 2^11

  // Biases count once: only a lane of the high halves starts with them.
  __device__ __forceinline__ TwoPartSums(float first, float second, int quad) {
    if (quad != 0) return;
    main[0][0] = main[0][1] = first;
    main[0][2] = main[0][3] = second;
  }

  __device__ __forceinline__ void Add(int index, const Fragment<kOperand>& a, const uint2& b) {
    MmaF16(main[index % kMain], a.word, b.x, b.y);
    if constexpr (kSplit) MmaF16(low[index % kMain], a.word + 4, b.x, b.y);
  }

  // Every lane of the warp takes part.
  __device__ __forceinline__ void Total(float (&out)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float sum = main[0][i];
      float small = kSplit ? low[0][i] : 0.0f;
#pragma unroll
      for (int chain = 1; chain < kMain; ++chain) {
        sum += main[chain][i];
        if constexpr (kSplit) small += low[chain][i];
      }
      small += __shfl_down_sync(0xffffffffu, sum, 1);
      out[i] = sum + small * (1.0f / 2048.0f);
    }
  }
};

}  // namespace vixen::kernels::resident
