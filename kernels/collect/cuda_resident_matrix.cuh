// SPDX-License-Identifier: Apache-2.0
// The matrix warps of the resident kernel: the online network of every step. Layer 0 of the block's
// own episodes, its sums over the market's columns made ahead for both states that may come; halves
// of layers 1 and 2 and of the last layers' inputs for the episodes of both blocks. What does not
// depend on what a barrier waits for is read before it.
#pragma once

#include <type_traits>

#include "kernels/collect/cuda_resident_memory.cuh"

namespace vixen::kernels::resident {

template <typename F>
class MatrixWarp {
 public:
  using Memory = ResidentMemory<F>;
  static constexpr Operand kOperand = F::kOperand;
  static constexpr int kEpisodes = F::kEpisodes;
  static constexpr int kParts = F::kParts;
  static constexpr int kTiles = kEpisodes == 1 ? 1 : 2;  // of 8 rows

  // `to_other`: from an address in this block's shared memory to the same place in the other's.
  __device__ MatrixWarp(Memory& memory, const std::byte* image, uint32_t rank, uint32_t to_other,
                        int warp, int lane)
      : memory_(memory),
        rank_(rank),
        to_other_(to_other),
        warp_(warp),
        lane_(lane),
        row_(lane / 4),
        quad_(lane % 4),
        has_columns_(kEpisodes > 1 || quad_ == 0) {
    const auto source = [image](int fragment) {
      return reinterpret_cast<const uint4*>(image + fragment * FragmentBytes(kOperand));
    };
#pragma unroll
    for (int i = 0; i < kGroups1; ++i) layer1_[i].Load(source(Fragment1(rank, warp, i)), lane);
#pragma unroll
    for (int i = 0; i < F::kRegisterGroups2; ++i) {
      layer2_[i].Load(source(Fragment2(rank, warp, i)), lane);
    }
  }

  // Called when the first states' columns are there.
  __device__ void Run(uint32_t steps) {
    StartLayer0([] {});
    SyncBlock();  // the first states are read: the next may take their place
    LoadPortfolioWeights();
#pragma unroll 1
    for (uint32_t step = 0; step < steps; ++step) {
      FinishLayer0();
      AwaitHidden(0, step & 1);
      Layer1();
      Fragments ahead[kAhead];
      LoadShared2(ahead);
      AwaitHidden(1, step & 1);
      Layer2(ahead);
      Fragments last[kAhead];
      LoadLast(last);
      SyncMatrix();
      LastLayers(step, last);
      StartLayer0([] { WaitForStates<kEpisodes>(); });
      LoadPortfolioWeights();
      SyncBlock();  // the next state is there
    }
  }

 private:
  using Pair = typename F::Pair;
  using Unit = typename F::Unit;
  using Fragments = Fragment<kOperand>;
  static constexpr int kChains = kTiles == 1 ? 4 : 2;
  using Sums = std::conditional_t<kParts == 1, ChainedSums<kOperand, kChains>,
                                  TwoPartSums<kOperand, kChains>>;
  // Sums that start with the biases of the lane's two neurons.
  __device__ __forceinline__ Sums SumsFrom(float first, float second) const {
    if constexpr (kParts == 1) {
      return Sums(first, second);
    } else {
      return Sums(first, second, quad_);
    }
  }
  static constexpr int kShared2 = Memory::kShared2;
  // Fragments read ahead: as many as registers are left for.
  static constexpr int kAhead = (kTiles == 1 ? 16 : 8) / Fragments::kWords;

  // A row of activations that is an operand B's column `row_`. Of one episode a block there are two
  // rows a part; the tile's other columns repeat them, and nobody reads their sums.
  static constexpr int kRowMask = kEpisodes == 1 ? 2 * kParts - 1 : 7;
  __device__ __forceinline__ Unit LoadUnit(const std::byte* rows, int stride, int tile,
                                           int column) const {
    return *reinterpret_cast<const Unit*>(rows + (8 * tile + (row_ & kRowMask)) * stride +
                                          column / 2 * F::kPairBytes);
  }

  // Sums of layer 0 over the market's columns. kEpisodes 1: rows 0 and 1 of one tile are the two
  // states; 8: a tile for each.
  template <typename WaitForColumns>
  __device__ __forceinline__ void StartLayer0(const WaitForColumns& wait) {
    Fragments ahead[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) ahead[i].Load(memory_.layer0[warp_][i][0], lane_);
    const float4 bias = *reinterpret_cast<const float4*>(memory_.bias0 + 32 * warp_ + 4 * row_);
    const float biases[2][2] = {{bias.x, bias.y}, {bias.z, bias.w}};
    wait();
#pragma unroll
    for (int block = 0; block < 2; ++block) {
      const Sums start = SumsFrom(biases[block][0], biases[block][1]);
      Sums sums[2] = {start, start};
#pragma unroll
      for (int i = 0; i < kGroups0; ++i) {
        const int place = block * kGroups0 + i;
        Fragments a = ahead[place < kAhead ? place : 0];
        if (place >= kAhead) a.Load(memory_.layer0[warp_][place][0], lane_);
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

  __device__ __forceinline__ void LoadPortfolioWeights() {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      weight_[i] = memory_.portfolio_weights[i][8 * warp_ + row_];
    }
  }

  // Adds the portfolio's columns for the state that came and hands the activations to both blocks.
  __device__ __forceinline__ void FinishLayer0() {
    if (!has_columns_) return;
#pragma unroll
    for (int u = 0; u < (kEpisodes == 1 ? 1 : 2); ++u) {
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
        sum = __fmaf_rn(weight_[i].x, portfolio.x, sum);
        sum = __fmaf_rn(weight_[i].y, portfolio.y, sum);
        sum = __fmaf_rn(weight_[i].z, portfolio.z, sum);
        value[i] = LeakyRelu(sum);
      }
      Hand<Unit>(0, rank_ * kEpisodes + episode, 32 * warp_ + 4 * row_, value);
    }
  }

  // Writes neighbouring activations of one row of hidden layer `layer` into both blocks: a Pair or
  // a Unit of them in each part.
  template <typename Words, int kCount>
  __device__ __forceinline__ void Hand(int layer, int row, int column,
                                       const float (&values)[kCount]) {
    Words words[kParts];
    F::Pack(values, words);
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      std::byte* at = memory_.hidden[layer][part][row] + column / 2 * F::kPairBytes;
      *reinterpret_cast<Words*>(at) = words[part];
      StoreAsync(SharedAddress(at) + to_other_, words[part],
                 memory_.arrived(layer).address + to_other_);
    }
  }

  // Until hidden layer `layer` is there, this block's part and the other's.
  __device__ __forceinline__ void AwaitHidden(int layer, uint32_t parity) {
    SyncMatrix();
    const ByteBarrier barrier = memory_.arrived(layer);
    barrier.Wait(parity);
    if (warp_ == 0 && lane_ == 0) barrier.Expect(ArrivingBytes<F>(layer));
  }

  __device__ __forceinline__ Unit HiddenUnit(int layer, int tile, int group) const {
    return LoadUnit(memory_.hidden[layer][0][0], F::kHiddenBytes, tile, kGroup * group + 4 * quad_);
  }

  __device__ __forceinline__ void Layer1() {
    const float2 bias = *reinterpret_cast<const float2*>(memory_.bias1 + 16 * warp_ + 2 * row_);
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      Sums sums = SumsFrom(bias.x, bias.y);
#pragma unroll
      for (int i = 0; i < kGroups1; ++i) sums.Add(i, layer1_[i], HiddenUnit(0, t, i));
      float out[4];
      sums.Total(out);
      if (!has_columns_) continue;
#pragma unroll
      for (int u = 0; u < 2; ++u) {
        const float values[2] = {LeakyRelu(out[u]), LeakyRelu(out[2 + u])};
        Hand<Pair>(1, 8 * t + 2 * quad_ + u, 128 * rank_ + 16 * warp_ + 2 * row_, values);
      }
    }
  }

  __device__ __forceinline__ void LoadShared2(Fragments (&ahead)[kAhead]) const {
    if constexpr (kShared2 > 0) {
#pragma unroll
      for (int i = 0; i < kAhead; ++i) ahead[i].Load(memory_.layer2[warp_][i][0], lane_);
    }
  }

  // Its activations stay in this block and take hidden layer 0's place: all have read that.
  __device__ __forceinline__ void Layer2(const Fragments (&ahead)[kAhead]) {
    constexpr int kRegisters = F::kRegisterGroups2;
    const float2 bias = *reinterpret_cast<const float2*>(memory_.bias2 + 16 * warp_ + 2 * row_);
    const Sums start = SumsFrom(bias.x, bias.y);
    Sums sums[2] = {start, start};
#pragma unroll
    for (int i = 0; i < kGroups1; ++i) {
      Fragments a;
      if (i < kRegisters) {
        a = layer2_[i < kRegisters ? i : 0];
      } else if (i < kRegisters + kAhead) {
        a = ahead[i >= kRegisters ? i - kRegisters : 0];
      } else {
        a.Load(memory_.layer2[warp_][i - kRegisters][0], lane_);
      }
#pragma unroll
      for (int t = 0; t < kTiles; ++t) sums[t].Add(i, a, HiddenUnit(1, t, i));
    }
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      float out[4];
      sums[t].Total(out);
      if (!has_columns_) continue;
#pragma unroll
      for (int u = 0; u < 2; ++u) {
        const float values[2] = {LeakyRelu(out[u]), LeakyRelu(out[2 + u])};
        Pair words[kParts];
        F::Pack(values, words);
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
          std::byte* at = memory_.hidden[0][part][8 * t + 2 * quad_ + u] +
                          (16 * warp_ + 2 * row_) / 2 * F::kPairBytes;
          *reinterpret_cast<Pair*>(at) = words[part];
        }
      }
    }
  }

  __device__ __forceinline__ void LoadLast(Fragments (&last)[kAhead]) const {
    if (warp_ >= kBlocks3) return;
#pragma unroll
    for (int i = 0; i < kAhead; ++i) last[i].Load(memory_.layer3[warp_][i][0], lane_);
  }

  // Four warps: a block of outputs each over this block's share of the inputs, to the block that
  // has the episode.
  __device__ __forceinline__ void LastLayers(uint32_t step, const Fragments (&last)[kAhead]) {
    if (warp_ >= kBlocks3) return;
    const int first = warp_ < 3 ? 64 : 0;
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      Sums sums = SumsFrom(0.0f, 0.0f);
#pragma unroll
      for (int i = 0; i < kGroups3; ++i) {
        Fragments a = last[i < kAhead ? i : 0];
        if (i >= kAhead) a.Load(memory_.layer3[warp_][i][0], lane_);
        sums.Add(
            i, a,
            LoadUnit(memory_.hidden[0][0][0], F::kHiddenBytes, t, first + kGroup * i + 4 * quad_));
      }
      float out[4];
      sums.Total(out);
      if (!has_columns_) continue;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const uint32_t owner = kEpisodes == 1 ? i % 2 : t;
        const uint32_t to_owner = owner == rank_ ? 0 : to_other_;
        const int episode = kEpisodes == 1 ? 0 : 2 * quad_ + i % 2;
        const float* at = &memory_.outputs[step % Memory::kOutputSets][rank_][episode]
                                          [16 * warp_ + row_ + 8 * (i / 2)];
        StoreAsync(SharedAddress(at) + to_owner, __float_as_uint(out[i]),
                   memory_.arrived(kOutputBarrier).address + to_owner);
      }
    }
  }

  Memory& memory_;
  const uint32_t rank_;
  const uint32_t to_other_;
  const int warp_;
  const int lane_;
  const int row_;  // of a fragment: neuron of an operand A, row of activations of an operand B
  const int quad_;
  const bool has_columns_;  // whether the lane's two columns of sums are rows that are there
  Fragments layer1_[kGroups1];
  Fragments layer2_[F::kRegisterGroups2];
  float ahead_[kTiles][2][4];  // [tile][block]: layer 0 but for the portfolio
  float4 weight_[4];           // layer 0's portfolio columns of the lane's neurons
};

}  // namespace vixen::kernels::resident
