// SPDX-License-Identifier: Apache-2.0
// The network pass of cards without wgmma (sm_80 … sm_89; runs on sm_90 as well): 8 warps of 16
// rows, products by mma.sync, weights by cp.async through three small stages. Activations stay in
// registers as in cuda_tile.cuh. With everything beside them within 99 KB of shared memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/collect/cuda_operand.cuh"
#include "kernels/collect/cuda_tile_q.cuh"

namespace vixen::kernels {

inline constexpr int kMmaWarps = 8;
inline constexpr int kMmaRows = 16 * kMmaWarps;
inline constexpr int kMmaSlots = 3;

// What is streamed for one tile, in order; begun anew when it ends.
struct StageSource {
  const std::byte* from;
  uint64_t bytes;
};
inline constexpr int kMostMmaStages = 80;

struct MmaMemory {
  std::byte stages[kMmaSlots][tile::kMmaStageBytes];
  StageSource plan[kMostMmaStages];
};

template <Operand kOperand>
constexpr int NetworkStages() {
  return tile::kHidden / tile::MmaChunk(kOperand) + 1 + 2 * tile::MmaStreamStages(kOperand) +
         tile::MmaLastStages(kOperand);
}
__device__ __forceinline__ void PlanStages(StageSource* plan, int& count, const std::byte*& from,
                                           int stages, int bytes) {
  for (int i = 0; i < stages; ++i) {
    plan[count++] = {from, static_cast<uint64_t>(bytes)};
    from += bytes;
  }
}
// Adds the stages of one network's image, or the curiosity model's two, to the plan; one thread.
template <Operand kOperand>
__device__ __forceinline__ void PlanNetwork(StageSource* plan, int& count, const std::byte* image) {
  constexpr int kLayer0 = tile::Layer0Bytes(kOperand, tile::MmaChunk(kOperand));
  PlanStages(plan, count, image, 1, kLayer0);
  PlanStages(plan, count, image, tile::kHidden / tile::MmaChunk(kOperand) - 1,
             kLayer0 + tile::kMmaLayer1Bytes);
  PlanStages(plan, count, image, 1, tile::kMmaLayer1Bytes);
  PlanStages(plan, count, image, 2 * tile::MmaStreamStages(kOperand), tile::kMmaStreamBytes);
  PlanStages(plan, count, image, tile::MmaLastStages(kOperand), tile::kMmaLastBytes);
}
template <Operand kOperand>
__device__ __forceinline__ void PlanCuriosity(StageSource* plan, int& count,
                                              const std::byte* image) {
  constexpr int kFirst = tile::Layer0Bytes(kOperand, 64);
  PlanStages(plan, count, image, 1, kFirst);
  PlanStages(plan, count, image, 1, tile::CuriosityBytes(kOperand) - kFirst);
}

// Every thread of the block copies its part of a stage, two stages ahead of the products.
struct MmaStream {
  MmaMemory* memory;
  int count;      // stages in the plan
  int next = 0;   // place in the plan of what is copied next
  int slot = 0;   // that it goes to
  int ready = 0;  // slot that the products read next

  __device__ __forceinline__ void Copy() {
    const StageSource source = memory->plan[next];
    std::byte* to = memory->stages[slot];
    for (uint32_t at = threadIdx.x * 16; at < source.bytes; at += 32 * kMmaWarps * 16) {
      CopyAsync16(to + at, source.from + at);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    next = next + 1 == count ? 0 : next + 1;
    slot = slot + 1 == kMmaSlots ? 0 : slot + 1;
  }
  // After the plan is there for all threads.
  __device__ __forceinline__ void Start() {
    Copy();
    Copy();
  }
  // The next stage. All warps are done with the one before.
  __device__ __forceinline__ const std::byte* Next() {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    Copy();
    const std::byte* stage = memory->stages[ready];
    ready = ready + 1 == kMmaSlots ? 0 : ready + 1;
    return stage;
  }
};

template <bool kTf32, int kNeurons>
__device__ __forceinline__ void MmaUnit(float (&d)[kNeurons / 2], const uint32_t* a,
                                        const std::byte* unit) {
  const uint4* words = reinterpret_cast<const uint4*>(unit) + threadIdx.x % 32;
#pragma unroll
  for (int pair = 0; pair < kNeurons / 16; ++pair) {
    const uint4 b = words[pair * 32];
    if constexpr (kTf32) {
      MmaTf32(d + 8 * pair, a, b.x, b.y);
      MmaTf32(d + 8 * pair + 4, a, b.z, b.w);
    } else {
      MmaF16(d + 8 * pair, a, b.x, b.y);
      MmaF16(d + 8 * pair + 4, a, b.z, b.w);
    }
  }
}

// d += kWords words of A by the units that `block` begins with.
template <Operand kOperand, int kNeurons, int kWords>
__device__ __forceinline__ void MmaBlock(float (&d)[kNeurons / 2], const uint32_t* a,
                                         const std::byte* block) {
  constexpr int kUnit = static_cast<int>(tile::UnitBytes(kNeurons));
  if constexpr (kOperand == Operand::kSplit) {
#pragma unroll
    for (int i = 0; i < kWords / 8; ++i) {
      const std::byte* high = block + 2 * i * kUnit;
      MmaUnit<false, kNeurons>(d, a + 8 * i, high + kUnit);
      MmaUnit<false, kNeurons>(d, a + 8 * i + 4, high);
      MmaUnit<false, kNeurons>(d, a + 8 * i, high);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kWords / 4; ++i) {
      MmaUnit<kOperand == Operand::kTf32, kNeurons>(d, a + 4 * i, block + i * kUnit);
    }
  }
}

template <int kCount>
__device__ __forceinline__ void Clear(float (&d)[kCount]) {
#pragma unroll
  for (float& value : d) value = 0.0f;
}

template <Operand kOperand>
__device__ __forceinline__ TileQ MmaNetworkPass(MmaStream& stream,
                                                const tile::NetworkConstants& constants,
                                                const StateFragment<kOperand>& state) {
  constexpr Operand kState = tile::StateOperand(kOperand);
  constexpr int kChunk = tile::MmaChunk(kOperand);
  constexpr int kStateWords = kOperand == Operand::kSplit ? 32 : 16;
  constexpr int kWords = 256 / tile::TileInputs(kOperand) * 16;
  const int quad = threadIdx.x % 4;
  __syncwarp();
  uint32_t hidden[kWords];
  {
    // Products of layer 0 for the next neurons come before those of layer 1 over the present ones,
    // their activation after them: the wait for it is hidden.
    float h1[128];
    float h0[kChunk / 2];
    uint32_t a[8];
    Clear(h1);
    Clear(h0);
    MmaBlock<kState, kChunk, kStateWords>(h0, state.word, stream.Next());
    Activate<kOperand, kChunk>(h0, constants.scale[0], nullptr, nullptr, quad, a);
#pragma unroll 1
    for (int chunk = 1; chunk < tile::kHidden / kChunk; ++chunk) {
      const std::byte* stage = stream.Next();
      Clear(h0);
      MmaBlock<kState, kChunk, kStateWords>(h0, state.word, stage);
      MmaBlock<kOperand, 256, 8>(h1, a, stage + tile::Layer0Bytes(kOperand, kChunk));
      Activate<kOperand, kChunk>(h0, constants.scale[0], nullptr, nullptr, quad, a);
    }
    MmaBlock<kOperand, 256, 8>(h1, a, stream.Next());
    Activate<kOperand, 256>(h1, constants.scale[1], constants.bias1, constants.bias1, quad, hidden);
  }
  TileQ q;
  uint32_t advantage[kWords / 2];
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    float h2[64];
    Clear(h2);
#pragma unroll
    for (int i = 0; i < tile::MmaStreamStages(kOperand); ++i) {
      MmaBlock<kOperand, 128, 16>(h2, hidden + 16 * i, stream.Next());
    }
    if (part == 0) {
      ValueOf(h2, constants, constants.scale[2], quad, q);
    } else {
      const float* bias = constants.bias2 + tile::kStream;
      Activate<kOperand, 128>(h2, constants.scale[2], bias, bias, quad, advantage);
    }
  }
  float out[24];
  Clear(out);
#pragma unroll
  for (int i = 0; i < tile::MmaLastStages(kOperand); ++i) {
    MmaBlock<kOperand, 48, 32>(out, advantage + 32 * i, stream.Next());
  }
  AdvantageOf(out, constants, quad, q);
  return q;
}

// Sums of the curiosity model's last layer; its two layers are the next two stages.
template <Operand kOperand>
__device__ __forceinline__ void MmaCuriosityPass(MmaStream& stream,
                                                 const tile::CuriosityConstants& constants,
                                                 const StateFragment<kOperand>& state,
                                                 const int (&category)[2], float (&out)[16]) {
  constexpr int kStateWords = kOperand == Operand::kSplit ? 32 : 16;
  constexpr int kWords = 64 / tile::TileInputs(kOperand) * 16;
  __syncwarp();
  float h0[32];
  Clear(h0);
  MmaBlock<tile::StateOperand(kOperand), 64, kStateWords>(h0, state.word, stream.Next());
  uint32_t a[kWords];
  Activate<kOperand, 64>(h0, constants.scale[0], constants.bias0[category[0]],
                         constants.bias0[category[1]], threadIdx.x % 4, a);
  Clear(out);
  MmaBlock<kOperand, 32, kWords>(out, a, stream.Next());
}

}  // namespace vixen::kernels
