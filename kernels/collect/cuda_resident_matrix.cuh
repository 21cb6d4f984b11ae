// SPDX-License-Identifier: Apache-2.0
// The matrix warps of the resident kernel: the online network of every step. Layer 0 of the block's
// own episodes, its sums over the market's columns made ahead for both states that may come; halves
// of layers 1 and 2 and of the last layers' inputs for the episodes of both blocks. What does not
// depend on what a barrier waits for is read before it.
#pragma once

#include "kernels/collect/cuda_cluster.cuh"
#include "kernels/collect/cuda_resident_lane.cuh"

namespace vixen::kernels::resident {

template <typename F>
using MatrixLaneOf = MatrixLane<ResidentMemory<F>, F::kEpisodes == 1 ? 4 : 2>;

template <typename F>
class MatrixWarp : MatrixLaneOf<F> {
 public:
  using Memory = ResidentMemory<F>;
  static constexpr Operand kOperand = F::kOperand;

  // `to_other`: from an address in this block's shared memory to the same place in the other's.
  __device__ MatrixWarp(Memory& memory, const std::byte* image, uint32_t rank, uint32_t to_other,
                        int warp, int lane)
      : Base(memory, warp, lane), rank_(rank), to_other_(to_other) {
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
    Base::LoadPortfolioWeights(weight_);
#pragma unroll 1
    for (uint32_t step = 0; step < steps; ++step) {
      // To both blocks.
      if (has_columns_) {
        Base::FinishLayer0(weight_, [this](int episode, int column, const float(&values)[4]) {
          Hand<Unit>(0, rank_ * kEpisodes + episode, column, values);
        });
      }
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
      Base::LoadPortfolioWeights(weight_);
      PassSpeculators<kEpisodes>();
      SyncBlock();  // the next state is there
    }
  }

 private:
  using Base = MatrixLaneOf<F>;
  using Base::has_columns_, Base::lane_, Base::memory_, Base::quad_, Base::row_, Base::warp_;
  using Base::kEpisodes, Base::kTiles, Base::LoadUnit, Base::SumsFrom;
  using typename Base::Fragments;
  using typename Base::Pair;
  using typename Base::Sums;
  using typename Base::Unit;
  static constexpr int kShared2 = Memory::kShared2;
  // Fragments read ahead: as many as registers are left for.
  static constexpr int kAhead = (kTiles == 1 ? 16 : 8) / Fragments::kWords;

  template <typename WaitForColumns>
  __device__ __forceinline__ void StartLayer0(const WaitForColumns& wait) {
    Fragments ahead[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) ahead[i].Load(memory_.layer0[warp_][i][0], lane_);
    Base::StartLayer0(
        [&](int place) {
          Fragments a = ahead[place < kAhead ? place : 0];
          if (place >= kAhead) a.Load(memory_.layer0[warp_][place][0], lane_);
          return a;
        },
        wait);
  }

  // Activations of hidden layer `layer` into both blocks.
  template <typename Words, int kCount>
  __device__ __forceinline__ void Hand(int layer, int row, int column,
                                       const float (&values)[kCount]) {
    Base::template Put<Words>(layer, row, column, values, [&](std::byte* at, const Words& words) {
      StoreAsync(SharedAddress(at) + to_other_, words, memory_.arrived(layer).address + to_other_);
    });
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
        Base::template Put<Pair>(0, 8 * t + 2 * quad_ + u, 16 * warp_ + 2 * row_, values);
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

  const uint32_t rank_;
  const uint32_t to_other_;
  Fragments layer1_[kGroups1];
  Fragments layer2_[F::kRegisterGroups2];
  float4 weight_[4];  // layer 0's portfolio columns of the lane's neurons
};

}  // namespace vixen::kernels::resident
