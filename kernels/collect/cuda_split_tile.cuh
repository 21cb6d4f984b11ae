// SPDX-License-Identifier: Apache-2.0
// The network pass of tiled_mma in fp32 (split products; sm_80 … sm_89, runs on sm_90 as well): 4
// warps of 16 rows, products by mma.sync, weights by cp.async through three small stages. Operands
// of two parts would take twice the room that cuda_mma_tile.cuh has for activations, so here they
// stay in registers as in cuda_tile.cuh. With everything beside them within 49 KB of shared memory,
// so that two blocks share an SM and one multiplies while the other activates, chooses and steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/collect/cuda_operand.cuh"
#include "kernels/collect/cuda_split_layout.h"
#include "kernels/collect/cuda_tile_q.cuh"

namespace vixen::kernels {

inline constexpr int kSplitWarps = 4;
inline constexpr int kSplitThreads = 32 * kSplitWarps;
inline constexpr int kSplitRows = 16 * kSplitWarps;
inline constexpr int kSplitSlots = 3;
inline constexpr int kSplitBlocks = 2;  // of an SM

// What is streamed for one tile, in order; begun anew when it ends.
struct StageSource {
  const std::byte* from;
  uint64_t bytes;
};
inline constexpr int kMostSplitStages = 144;
static_assert(3 + 2 * tile::kSplitNetworkStages <= kMostSplitStages);

struct SplitMemory {
  alignas(16) std::byte stages[kSplitSlots * tile::kSplitStageBytes];
  StageSource plan[kMostSplitStages];
};

__device__ __forceinline__ void PlanStages(StageSource* plan, int& count, const std::byte*& from,
                                           int stages, int bytes) {
  for (int i = 0; i < stages; ++i) {
    plan[count++] = {from, static_cast<uint64_t>(bytes)};
    from += bytes;
  }
}
// Adds the stages of one network's image, or of the curiosity model's, to the plan; one thread.
__device__ __forceinline__ void PlanNetwork(StageSource* plan, int& count, const std::byte* image) {
  constexpr int kStages = tile::kSplitChunkStages;
  constexpr int kLayer0 = tile::kSplitLayer0Bytes;
  PlanStages(plan, count, image, 1, kStages * kLayer0);
  PlanStages(plan, count, image, (tile::kSplitChunks - 1) * kStages,
             kLayer0 + tile::kSplitLayer1Bytes);
  PlanStages(plan, count, image, kStages, tile::kSplitLayer1Bytes);
  PlanStages(plan, count, image, 2 * tile::kSplitStreamStages, tile::kSplitStreamBytes);
  PlanStages(plan, count, image, tile::kSplitLastStages, tile::kSplitLastBytes);
}
__device__ __forceinline__ void PlanCuriosity(StageSource* plan, int& count,
                                              const std::byte* image) {
  PlanStages(plan, count, image, 2, tile::kSplitCuriosityBytes);
  PlanStages(plan, count, image, 1,
             tile::CuriosityBytes(Operand::kSplit) - 2 * tile::kSplitCuriosityBytes);
}

// 16 bytes from global to shared memory, `kOffset` behind both addresses.
template <int kOffset>
__device__ __forceinline__ void CopyStage16(uint32_t shared, const std::byte* global) {
  asm volatile("cp.async.cg.shared.global [%0 + %2], [%1 + %2], 16;" ::"r"(shared), "l"(global),
               "n"(kOffset)
               : "memory");
}
template <int... kIndex>
__device__ __forceinline__ void CopyStage(uint32_t shared, const std::byte* global, uint32_t bytes,
                                          std::integer_sequence<int, kIndex...>) {
  constexpr int kWave = 16 * kSplitThreads;
  const auto copy = [&](auto index) {
    constexpr int kOffset = decltype(index)::value * kWave;
    if (16 * threadIdx.x + kOffset < bytes) CopyStage16<kOffset>(shared, global);
  };
  (copy(std::integral_constant<int, kIndex>()), ...);
}

// Every thread of the block copies its part of a stage, two stages ahead of the products.
struct SplitStream {
  SplitMemory* memory;
  int count;                // stages in the plan
  int next = 0;             // place in the plan of what is copied next
  uint32_t slot = 0;        // byte offset of the slot that it goes to
  uint32_t ready = 0;       // of the slot that the products read next
  StageSource source = {};  // of what is copied next

  __device__ __forceinline__ static uint32_t After(uint32_t slot) {
    return slot == (kSplitSlots - 1) * tile::kSplitStageBytes ? 0 : slot + tile::kSplitStageBytes;
  }
  // After the plan is there for all threads.
  __device__ __forceinline__ void Start() {
    source = memory->plan[0];
    Refill();
    source = memory->plan[next];
    Refill();
  }
  // The next stage. All warps are done with the one before.
  __device__ __forceinline__ const std::byte* Await() {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    source = memory->plan[next];
    const std::byte* stage = memory->stages + ready;
    ready = After(ready);
    return stage;
  }
  // Once after each Await: fills the slot of the stage before it. Behind the first products, so
  // that they do not wait for it.
  __device__ __forceinline__ void Refill() {
    const uint32_t to = SharedAddress(memory->stages) + slot + 16 * threadIdx.x;
    CopyStage(to, source.from + 16 * threadIdx.x, static_cast<uint32_t>(source.bytes),
              std::make_integer_sequence<int, tile::kSplitStageBytes / (16 * kSplitThreads)>());
    asm volatile("cp.async.commit_group;" ::: "memory");
    next = next + 1 == count ? 0 : next + 1;
    slot = After(slot);
  }
};

// d += a · kPairs pairs of blocks of 8 neurons of a unit, from pair `first` on.
template <int kPairs>
__device__ __forceinline__ void SplitPairs(float* d, const uint32_t* a, const std::byte* unit,
                                           int first) {
  const uint4* words = reinterpret_cast<const uint4*>(unit) + threadIdx.x % 32;
#pragma unroll
  for (int pair = first; pair < first + kPairs; ++pair) {
    const uint4 b = words[pair * 32];
    MmaF16(d + 8 * pair, a, b.x, b.y);
    MmaF16(d + 8 * pair + 4, a, b.z, b.w);
  }
}

// The same with (high + low) for a: each weight is read once for both. Sums of several blocks of
// neurons take turns, so that none waits for itself.
template <int kPairs>
__device__ __forceinline__ void SplitPairsOfParts(float* d, const uint32_t* high,
                                                  const uint32_t* low, const std::byte* unit,
                                                  int first) {
  constexpr int kTurn = kPairs % 4 == 0 ? 4 : kPairs;
  const uint4* words = reinterpret_cast<const uint4*>(unit) + threadIdx.x % 32;
#pragma unroll
  for (int turn = first; turn < first + kPairs; turn += kTurn) {
    uint4 b[kTurn];
#pragma unroll
    for (int i = 0; i < kTurn; ++i) b[i] = words[(turn + i) * 32];
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const uint32_t* a = part == 0 ? low : high;
#pragma unroll
      for (int i = 0; i < kTurn; ++i) {
        MmaF16(d + 8 * (turn + i), a, b[i].x, b[i].y);
        MmaF16(d + 8 * (turn + i) + 4, a, b[i].z, b[i].w);
      }
    }
  }
}

// d += kWords words of A by the units that `block` begins with.
template <int kNeurons, int kWords>
__device__ __forceinline__ void SplitBlock(float (&d)[kNeurons / 2], const uint32_t* a,
                                           const std::byte* block) {
  constexpr int kUnit = static_cast<int>(tile::SplitUnitBytes(kNeurons));
#pragma unroll
  for (int i = 0; i < kWords / 8; ++i) {
    const std::byte* high = block + 2 * i * kUnit;
    SplitPairs<kNeurons / 16>(d, a + 8 * i, high + kUnit, 0);
    SplitPairsOfParts<kNeurons / 16>(d, a + 8 * i, a + 8 * i + 4, high, 0);
  }
}

template <int kCount>
__device__ __forceinline__ void Clear(float (&d)[kCount]) {
#pragma unroll
  for (float& value : d) value = 0.0f;
}

// Layers 0 and 1 → the sums of layer 1. Products of layer 0 for the next neurons, each waiting for
// the one before it, come between those of layer 1 over the present ones.
__device__ __forceinline__ void SplitFirstLayers(SplitStream& stream,
                                                 const tile::NetworkConstants& constants,
                                                 const StateFragment<Operand::kSplit>& state,
                                                 int quad, float (&h1)[128]) {
  constexpr int kNeurons = tile::kSplitChunk;
  constexpr int kShare = 32 / tile::kSplitChunkStages;  // words of states a stage
  constexpr int kSteps = kShare / 8;
  constexpr int kStepBytes = tile::kSplitLayer0Bytes / kSteps;
  float h0[kNeurons / 2];
  uint32_t a[8];
  const auto activate = [&] {
    Activate<Operand::kSplit, kNeurons>(h0, constants.scale[0], nullptr, nullptr, quad, a);
  };
  // d += the present chunk's activations by kPairs pairs of a unit of high parts, or of low ones.
  const auto layer1 = [&](auto pairs, int which, const std::byte* unit, int first) {
    if (which == 0) {
      SplitPairsOfParts<decltype(pairs)::value>(h1, a, a + 4, unit, first);
    } else {
      SplitPairs<decltype(pairs)::value>(h1, a, unit, first);
    }
  };
  Clear(h1);
  Clear(h0);
  SplitBlock<kNeurons, 32>(h0, state.word, stream.Await());
  stream.Refill();
  activate();
#pragma unroll 1
  for (int chunk = 1; chunk < tile::kSplitChunks; ++chunk) {
    Clear(h0);
#pragma unroll
    for (int i = 0; i < tile::kSplitChunkStages; ++i) {
      const std::byte* stage = stream.Await();
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        SplitBlock<kNeurons, 8>(h0, state.word + i * kShare + 8 * step, stage + kStepBytes * step);
        if (step == 0) stream.Refill();
        layer1(std::integral_constant<int, 16 / kSteps>(), i, stage + tile::kSplitLayer0Bytes,
               16 / kSteps * step);
      }
    }
    activate();
  }
#pragma unroll
  for (int i = 0; i < tile::kSplitChunkStages; ++i) {
    const std::byte* stage = stream.Await();
    stream.Refill();
    layer1(std::integral_constant<int, 16>(), i, stage, 0);
  }
}

__device__ __forceinline__ TileQ SplitNetworkPass(SplitStream& stream,
                                                  const tile::NetworkConstants& constants,
                                                  const StateFragment<Operand::kSplit>& state) {
  constexpr Operand kOperand = Operand::kSplit;
  constexpr int kWords = 256 / tile::TileInputs(kOperand) * 16;
  const int quad = threadIdx.x % 4;
  __syncwarp();
  uint32_t hidden[kWords];
  {
    float h1[128];
    SplitFirstLayers(stream, constants, state, quad, h1);
    Activate<kOperand, 256>(h1, constants.scale[1], constants.bias1, constants.bias1, quad, hidden);
  }
  TileQ q;
  uint32_t advantage[kWords / 2];
  // One copy of the products in the code for both streams.
#pragma unroll 1
  for (int part = 0; part < 2; ++part) {
    float h2[64];
    Clear(h2);
#pragma unroll
    for (int i = 0; i < tile::kSplitStreamStages; ++i) {
      const std::byte* stage = stream.Await();
      const uint32_t* words = hidden + 8 * i;
      SplitPairs<8>(h2, words, stage + tile::SplitUnitBytes(128), 0);
      stream.Refill();
      SplitPairsOfParts<8>(h2, words, words + 4, stage, 0);
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
  for (int i = 0; i < tile::kSplitLastStages; ++i) {
    const std::byte* stage = stream.Await();
    SplitBlock<48, 8>(out, advantage + 16 * i, stage);
    stream.Refill();
    SplitBlock<48, 8>(out, advantage + 16 * i + 8, stage + tile::kSplitLastBytes / 2);
  }
  AdvantageOf(out, constants, quad, q);
  return q;
}

// Sums of the curiosity model's last layer; its two layers are the next stages.
__device__ __forceinline__ void SplitCuriosityPass(SplitStream& stream,
                                                   const tile::CuriosityConstants& constants,
                                                   const StateFragment<Operand::kSplit>& state,
                                                   const int (&category)[2], float (&out)[16]) {
  __syncwarp();
  float h0[32];
  Clear(h0);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    SplitBlock<64, 16>(h0, state.word + 16 * i, stream.Await());
    stream.Refill();
  }
  uint32_t a[32];
  Activate<Operand::kSplit, 64>(h0, constants.scale[0], constants.bias0[category[0]],
                                constants.bias0[category[1]], threadIdx.x % 4, a);
  Clear(out);
  SplitBlock<32, 32>(out, a, stream.Await());
  stream.Refill();
}

}  // namespace vixen::kernels
