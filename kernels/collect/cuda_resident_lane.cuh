// SPDX-License-Identifier: Apache-2.0
// What the matrix warps of both forms of the resident kernel have in common: a lane's place in
// operands and sums, and layer 0, whose sums over the market's columns are made ahead for both
// states that may come.
#pragma once

#include <cstddef>
#include <type_traits>

#include "kernels/collect/cuda_resident_memory.cuh"

namespace vixen::kernels::resident {

template <typename Memory, int kChains>
class MatrixLane {
 protected:
  using F = typename Memory::FormOf;
  using Pair = typename F::Pair;
  using Unit = typename F::Unit;
  static constexpr int kEpisodes = F::kEpisodes;
  static constexpr int kParts = F::kParts;
  static constexpr int kTiles = kEpisodes == 1 ? 1 : 2;    // of 8 states
  static constexpr int kColumns = kEpisodes == 1 ? 1 : 2;  // of a tile's sums that a lane finishes
  using Fragments = Fragment<F::kOperand>;
  using Sums = std::conditional_t<kParts == 1, ChainedSums<F::kOperand, kChains>,
                                  TwoPartSums<F::kOperand, kChains>>;

  __device__ __forceinline__ MatrixLane(Memory& memory, int warp, int lane)
      : memory_(memory),
        warp_(warp),
        lane_(lane),
        row_(lane / 4),
        quad_(lane % 4),
        has_columns_(kEpisodes > 1 || quad_ == 0) {}

  // Sums that start with the biases of the lane's two neurons.
  __device__ __forceinline__ Sums SumsFrom(float first, float second) const {
    if constexpr (kParts == 1) {
      return Sums(first, second);
    } else {
      return Sums(first, second, quad_);
    }
  }

  // A row of activations that is an operand B's column `row_`. Of one episode a block there are two
  // rows a part; the tile's other columns repeat them, and nobody reads their sums.
  static constexpr int kRowMask = kEpisodes == 1 ? 2 * kParts - 1 : 7;
  __device__ __forceinline__ Unit LoadUnit(const std::byte* rows, int stride, int tile,
                                           int column) const {
    return *reinterpret_cast<const Unit*>(rows + (8 * tile + (row_ & kRowMask)) * stride +
                                          column / 2 * F::kPairBytes);
  }

  // Sums of layer 0 over the market's columns, its weights by `fragment(place)`. kEpisodes 1: rows
  // 0 and 1 of one tile are the two states; 8: a tile for each.
  template <typename FragmentAt, typename WaitForColumns>
  __device__ __forceinline__ void StartLayer0(const FragmentAt& fragment,
                                              const WaitForColumns& wait) {
    const float4 bias = *reinterpret_cast<const float4*>(memory_.bias0 + 32 * warp_ + 4 * row_);
    const float biases[2][2] = {{bias.x, bias.y}, {bias.z, bias.w}};
    wait();
#pragma unroll
    for (int block = 0; block < 2; ++block) {
      const Sums start = SumsFrom(biases[block][0], biases[block][1]);
      Sums sums[2] = {start, start};
#pragma unroll
      for (int i = 0; i < kGroups0; ++i) {
        const Fragments a = fragment(block * kGroups0 + i);
#pragma unroll
        for (int t = 0; t < kTiles; ++t) {
          sums[t].Add(i, a,
                      LoadUnit(memory_.state[0][0][0], F::kStateBytes, t, kGroup * i + 4 * quad_));
        }
      }
#pragma unroll
      for (int t = 0; t < kTiles; ++t) sums[t].Total(ahead_[t][block]);
    }
  }

  // Layer 0's portfolio columns of the lane's neurons.
  __device__ __forceinline__ void LoadPortfolioWeights(float4 (&weight)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) weight[i] = memory_.portfolio_weights[i][8 * warp_ + row_];
  }

  // Adds the portfolio's columns for the state that came: hand(episode, column, activations).
  template <typename Hand>
  __device__ __forceinline__ void FinishLayer0(const float4 (&weight)[4], const Hand& hand) const {
#pragma unroll
    for (int u = 0; u < kColumns; ++u) {
      const int episode = kEpisodes == 1 ? 0 : 2 * quad_ + u;
      const float4 portfolio = memory_.portfolio[episode];
      const bool anew = portfolio.w != 0.0f;
      float value[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = 2 * (i % 2);
        const float goes_on = ahead_[0][i / 2][at + (kEpisodes == 1 ? 0 : u)];
        const float starts = ahead_[kTiles - 1][i / 2][at + (kEpisodes == 1 ? 1 : u)];
        float sum = anew ? starts : goes_on;
        sum = __fmaf_rn(weight[i].x, portfolio.x, sum);
        sum = __fmaf_rn(weight[i].y, portfolio.y, sum);
        sum = __fmaf_rn(weight[i].z, portfolio.z, sum);
        value[i] = LeakyRelu(sum);
      }
      hand(episode, 32 * warp_ + 4 * row_, value);
    }
  }

  // Writes neighbouring activations of one row of hidden layer `layer`, a Pair or a Unit of them in
  // each part; also(place, words) of each.
  template <typename Words, int kCount, typename Also>
  __device__ __forceinline__ void Put(int layer, int row, int column, const float (&values)[kCount],
                                      const Also& also) const {
    Words words[kParts];
    F::Pack(values, words);
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      std::byte* at = memory_.hidden[layer][part][row] + column / 2 * F::kPairBytes;
      *reinterpret_cast<Words*>(at) = words[part];
      also(at, words[part]);
    }
  }
  template <typename Words, int kCount>
  __device__ __forceinline__ void Put(int layer, int row, int column,
                                      const float (&values)[kCount]) const {
    Put<Words>(layer, row, column, values, [](std::byte*, const Words&) {});
  }

  Memory& memory_;
  const int warp_;
  const int lane_;
  const int row_;  // of a fragment: neuron of an operand A, row of activations of an operand B
  const int quad_;
  const bool has_columns_;     // whether the lane's two columns of sums are rows that are there
  float ahead_[kTiles][2][4];  // [tile][block]: layer 0 but for the portfolio
};

}  // namespace vixen::kernels::resident
