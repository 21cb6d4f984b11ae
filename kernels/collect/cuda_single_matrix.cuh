// SPDX-License-Identifier: Apache-2.0
// The matrix warps of the resident kernel without clusters: the whole online network of every step
// in one block. The work and the image are those of cuda_resident_matrix.cuh, of both ranks; what
// does not fit beside it is read from the L2 cache, one fragment a product ahead.
#pragma once

#include "kernels/collect/cuda_resident_lane.cuh"
#include "kernels/collect/cuda_single_memory.cuh"

namespace vixen::kernels::resident {

template <typename F>
class SingleMatrixWarp : MatrixLane<SingleMemory<F>, 2> {
 public:
  using Memory = SingleMemory<F>;

  __device__ SingleMatrixWarp(Memory& memory, const std::byte* image, int warp, int lane)
      : Base(memory, warp, lane),
        layer0_(reinterpret_cast<const uint4*>(image) + 32 * Fragment0(warp, 0, 0) + lane),
        hidden_(reinterpret_cast<const uint4*>(image) + 32 * kGroups1 * warp + lane),
        last_(reinterpret_cast<const uint4*>(image) +
              32 * Fragment3(warp / kBlocks3, warp % kBlocks3, 0) + lane) {
#pragma unroll
    for (int rank = 0; rank < kCluster; ++rank) {
#pragma unroll
      for (int i = 0; i < kInRegisters; ++i) {
        held1_[rank][i] = Read(hidden_, Fragment1(rank, 0, kStreamedFirst + i));
        held2_[rank][i] = Read(hidden_, Fragment2(rank, 0, kStreamedFirst + i));
      }
    }
#pragma unroll
    for (int i = 0; i < kOnTheWay; ++i) way_[i] = Streamed(kStep - 2 * kGroups0 + i);
  }

  // Called when the first states' columns are there.
  __device__ void Run(uint32_t steps) {
    StartLayer0([] {});
    SyncBlock();  // the first states are read: the next may take their place
#pragma unroll 1
    for (uint32_t step = 0; step < steps; ++step) {
      FinishLayer0();
      SyncMatrix();
      HiddenLayer<1>();
      SyncMatrix();
      HiddenLayer<2>();
      SyncMatrix();
      LastLayers(step);
      memory_.AnnounceOutputs();
      StartLayer0([] { WaitForStates<kEpisodes>(); });
      PassSpeculators<kEpisodes>();
      SyncBlock();  // the next state is there
    }
  }

 private:
  using Base = MatrixLane<SingleMemory<F>, 2>;
  using Base::has_columns_, Base::lane_, Base::memory_, Base::quad_, Base::row_, Base::warp_;
  using Base::kColumns, Base::kEpisodes, Base::LoadUnit, Base::SumsFrom;
  using typename Base::Fragments;
  using typename Base::Pair;
  using typename Base::Sums;
  using typename Base::Unit;

  // Fragment `index` behind `from` from L2; past L1, which is too small for what a step reads.
  __device__ __forceinline__ static Fragments Read(const uint4* from, int index) {
    const uint4 v = __ldcg(from + 32 * index);
    return {{v.x, v.y, v.z, v.w}};
  }
  static constexpr int kStreamed = 2 * (kStreamedFirst + kStreamedLast);  // of a hidden layer
  static constexpr int kStep = 2 * kStreamed + kGroups3 + 2 * kGroups0;
  // The fragment that a step uses at `place` of its stream; beyond its end the next step's.
  __device__ __forceinline__ Fragments Streamed(int place) const {
    if (place >= kStep) place -= kStep;
    if (place < 2 * kStreamed) {
      const int of_layer = place % kStreamed;
      const int group =
          of_layer / 2 < kStreamedFirst ? of_layer / 2 : of_layer / 2 - kStreamedFirst + kFirstLast;
      return Read(hidden_, place < kStreamed ? Fragment1(of_layer % 2, 0, group)
                                             : Fragment2(of_layer % 2, 0, group));
    }
    if (place < 2 * kStreamed + kGroups3) return Read(last_, place - 2 * kStreamed);
    return Read(layer0_, place - 2 * kStreamed - kGroups3);
  }
  // The streamed fragment at `place`, whose register the one kOnTheWay places later takes.
  __device__ __forceinline__ Fragments Take(int place) {
    const Fragments taken = way_[place % kOnTheWay];
    way_[place % kOnTheWay] = Streamed(place + kOnTheWay);
    return taken;
  }

  template <typename WaitForColumns>
  __device__ __forceinline__ void StartLayer0(const WaitForColumns& wait) {
    constexpr int kFirst = 2 * kStreamed + kGroups3;
    Base::StartLayer0([this](int place) { return Take(kFirst + place); }, wait);
  }

  __device__ __forceinline__ void FinishLayer0() const {
    if (!has_columns_) return;
    float4 weight[4];
    Base::LoadPortfolioWeights(weight);
    Base::FinishLayer0(weight, [this](int episode, int column, const float(&values)[4]) {
      Base::template Put<Unit>(0, episode, column, values);
    });
  }

  // Layer 1 from hidden activations 0 to 1; layer 2 back to 0, which all have read. Column 128 ·
  // rank + i of the latter is neuron StreamRow(rank, i).
  template <int kLayer>
  __device__ __forceinline__ void HiddenLayer() {
    constexpr int kFrom = kLayer - 1;
    constexpr int kFirst = kFrom * kStreamed;
    const float* const bias = kLayer == 1 ? memory_.bias1 : memory_.bias2;
    const auto bias_of = [&](int rank) {
      return *reinterpret_cast<const float2*>(bias + 128 * rank + 16 * warp_ + 2 * row_);
    };
    const float2 biases[kCluster] = {bias_of(0), bias_of(1)};
    Sums sums[kCluster] = {SumsFrom(biases[0].x, biases[0].y), SumsFrom(biases[1].x, biases[1].y)};
#pragma unroll
    for (int i = 0; i < kGroups1; ++i) {
      const Unit b =
          LoadUnit(memory_.hidden[kFrom][0][0], F::kHiddenBytes, 0, kGroup * i + 4 * quad_);
#pragma unroll
      for (int rank = 0; rank < kCluster; ++rank) {
        Fragments a;
        if (i >= kStreamedFirst && i < kFirstShared) {
          a = (kLayer == 1 ? held1_ : held2_)[rank][i - kStreamedFirst];
        } else if (i >= kFirstShared && i < kFirstLast) {
          const auto& held = kLayer == 1 ? memory_.layer1 : memory_.layer2;
          a.Load(held[warp_][rank][i - kFirstShared], lane_);
        } else {
          const int group = i < kStreamedFirst ? i : i - kFirstLast + kStreamedFirst;
          a = Take(kFirst + 2 * group + rank);
        }
        sums[rank].Add(i, a, b);
      }
    }
#pragma unroll
    for (int rank = 0; rank < kCluster; ++rank) {
      float out[4];
      sums[rank].Total(out);
      if (!has_columns_) continue;
#pragma unroll
      for (int u = 0; u < kColumns; ++u) {
        const float values[2] = {LeakyRelu(out[u]), LeakyRelu(out[2 + u])};
        Base::template Put<Pair>(1 - kFrom, kEpisodes == 1 ? 0 : 2 * quad_ + u,
                                 128 * rank + 16 * warp_ + 2 * row_, values);
      }
    }
  }

  // Each warp: a block of outputs over half of the inputs.
  __device__ __forceinline__ void LastLayers(uint32_t step) {
    const int half = warp_ / kBlocks3;
    const int block = warp_ % kBlocks3;
    const int first = 128 * half + (block < 3 ? 64 : 0);
    Sums sums = SumsFrom(0.0f, 0.0f);
#pragma unroll
    for (int i = 0; i < kGroups3; ++i) {
      sums.Add(
          i, Take(2 * kStreamed + i),
          LoadUnit(memory_.hidden[0][0][0], F::kHiddenBytes, 0, first + kGroup * i + 4 * quad_));
    }
    float out[4];
    sums.Total(out);
    if (!has_columns_) return;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (kEpisodes == 1 && i % 2 == 1) continue;
      const int episode = kEpisodes == 1 ? 0 : 2 * quad_ + i % 2;
      memory_.outputs[step % Memory::kOutputSets][half][episode][16 * block + row_ + 8 * (i / 2)] =
          out[i];
    }
  }

  // This lane's words of the warp's first fragment of each layer; of layers 1 and 2 as if warp 0's
  // were at the image's beginning.
  const uint4* const layer0_;
  const uint4* const hidden_;
  const uint4* const last_;
  Fragments held1_[kCluster][kInRegisters];
  Fragments held2_[kCluster][kInRegisters];
  Fragments way_[kOnTheWay];
};

}  // namespace vixen::kernels::resident
