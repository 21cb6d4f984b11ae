// SPDX-License-Identifier: Apache-2.0
// The network pass of cards without wgmma (sm_80 … sm_89; runs on sm_90 as well): 4 warps of 16
// rows, products by mma.sync, weights by cp.async through three small stages. Activations stay in
// registers as in cuda_tile.cuh. With everything beside them within 49 KB of shared memory, so that
// two blocks share an SM and one multiplies while the other activates, chooses and steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/collect/cuda_operand.cuh"
#include "kernels/collect/cuda_tile_q.cuh"

namespace vixen::kernels {

inline constexpr int kMmaWarps = 4;
inline constexpr int kMmaThreads = 32 * kMmaWarps;
inline constexpr int kMmaRows = 16 * kMmaWarps;
inline constexpr int kMmaSlots = 3;
inline constexpr int kMmaBlocks = 2;  // of an SM

// What is streamed for one tile, in order; begun anew when it ends.
struct StageSource {
  const std::byte* from;
  uint64_t bytes;
};
inline constexpr int kMostMmaStages = 144;

struct MmaMemory {
  alignas(16) std::byte stages[kMmaSlots * tile::kMmaStageBytes];
  StageSource plan[kMostMmaStages];
};

inline constexpr int kMmaChunks = tile::kHidden / tile::kMmaChunk;
template <Operand kOperand>
constexpr int NetworkStages() {
  return 1 + kMmaChunks * tile::MmaChunkStages(kOperand) + 2 * tile::MmaStreamStages(kOperand) +
         tile::MmaLastStages(kOperand);
}
template <Operand kOperand>
constexpr int CuriosityStages() {
  return tile::MmaCuriosityStages(kOperand) + 1;
}
static_assert(CuriosityStages<Operand::kSplit>() + 2 * NetworkStages<Operand::kSplit>() <=
              kMostMmaStages);
__device__ __forceinline__ void PlanStages(StageSource* plan, int& count, const std::byte*& from,
                                           int stages, int bytes) {
  for (int i = 0; i < stages; ++i) {
    plan[count++] = {from, static_cast<uint64_t>(bytes)};
    from += bytes;
  }
}
// Adds the stages of one network's image, or of the curiosity model's, to the plan; one thread.
template <Operand kOperand>
__device__ __forceinline__ void PlanNetwork(StageSource* plan, int& count, const std::byte* image) {
  constexpr int kStages = tile::MmaChunkStages(kOperand);
  constexpr int kLayer0 = tile::MmaLayer0Bytes(kOperand);
  PlanStages(plan, count, image, 1, kStages * kLayer0);
  PlanStages(plan, count, image, (kMmaChunks - 1) * kStages, kLayer0 + tile::kMmaLayer1Bytes);
  PlanStages(plan, count, image, kStages, tile::kMmaLayer1Bytes);
  PlanStages(plan, count, image, 2 * tile::MmaStreamStages(kOperand), tile::kMmaStreamBytes);
  PlanStages(plan, count, image, tile::MmaLastStages(kOperand), tile::kMmaLastBytes);
}
template <Operand kOperand>
__device__ __forceinline__ void PlanCuriosity(StageSource* plan, int& count,
                                              const std::byte* image) {
  constexpr int kStages = tile::MmaCuriosityStages(kOperand);
  constexpr int kFirst = tile::Layer0Bytes(kOperand, 64);
  static_assert(kFirst / kStages <= tile::kMmaStageBytes);
  PlanStages(plan, count, image, kStages, kFirst / kStages);
  PlanStages(plan, count, image, 1, tile::CuriosityBytes(kOperand) - kFirst);
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
  constexpr int kWave = 16 * kMmaThreads;
  const auto copy = [&](auto index) {
    constexpr int kOffset = decltype(index)::value * kWave;
    if (16 * threadIdx.x + kOffset < bytes) CopyStage16<kOffset>(shared, global);
  };
  (copy(std::integral_constant<int, kIndex>()), ...);
}

// Every thread of the block copies its part of a stage, two stages ahead of the products.
struct MmaStream {
  MmaMemory* memory;
  int count;                // stages in the plan
  int next = 0;             // place in the plan of what is copied next
  uint32_t slot = 0;        // byte offset of the slot that it goes to
  uint32_t ready = 0;       // of the slot that the products read next
  StageSource source = {};  // of what is copied next

  __device__ __forceinline__ static uint32_t After(uint32_t slot) {
    return slot == (kMmaSlots - 1) * tile::kMmaStageBytes ? 0 : slot + tile::kMmaStageBytes;
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
              std::make_integer_sequence<int, tile::kMmaStageBytes / (16 * kMmaThreads)>());
    asm volatile("cp.async.commit_group;" ::: "memory");
    next = next + 1 == count ? 0 : next + 1;
    slot = After(slot);
  }
};

// d += a · kPairs pairs of blocks of 8 neurons of a unit, from pair `first` on.
template <bool kTf32, int kPairs>
__device__ __forceinline__ void MmaPairs(float* d, const uint32_t* a, const std::byte* unit,
                                         int first) {
  const uint4* words = reinterpret_cast<const uint4*>(unit) + threadIdx.x % 32;
#pragma unroll
  for (int pair = first; pair < first + kPairs; ++pair) {
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
template <bool kTf32, int kNeurons>
__device__ __forceinline__ void MmaUnit(float* d, const uint32_t* a, const std::byte* unit) {
  MmaPairs<kTf32, kNeurons / 16>(d, a, unit, 0);
}

// The same with (high + low) for a: each weight is read once for both. Sums of several blocks of
// neurons take turns, so that none waits for itself.
template <int kPairs>
__device__ __forceinline__ void MmaPairsOfParts(float* d, const uint32_t* high, const uint32_t* low,
                                                const std::byte* unit, int first) {
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
template <Operand kOperand, int kNeurons, int kWords>
__device__ __forceinline__ void MmaBlock(float (&d)[kNeurons / 2], const uint32_t* a,
                                         const std::byte* block) {
  constexpr int kUnit = static_cast<int>(tile::UnitBytes(kNeurons));
  if constexpr (kOperand == Operand::kSplit) {
#pragma unroll
    for (int i = 0; i < kWords / 8; ++i) {
      const std::byte* high = block + 2 * i * kUnit;
      MmaUnit<false, kNeurons>(d, a + 8 * i, high + kUnit);
      MmaPairsOfParts<kNeurons / 16>(d, a + 8 * i, a + 8 * i + 4, high, 0);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kWords / 4; ++i) {
      MmaUnit<kOperand == Operand::kTf32, kNeurons>(d, a + 4 * i, block + i * kUnit);
    }
  }
}

// d += a chunk's activations by kPairs pairs of its layer 1 unit number `which`.
template <Operand kOperand, int kPairs>
__device__ __forceinline__ void MmaChunkPairs(float (&d)[128], const uint32_t* a, int which,
                                              const std::byte* unit, int first) {
  if constexpr (kOperand == Operand::kSplit) {
    if (which == 0) {
      MmaPairsOfParts<kPairs>(d, a, a + 4, unit, first);
    } else {
      MmaPairs<false, kPairs>(d, a, unit, first);
    }
  } else {
    MmaPairs<kOperand == Operand::kTf32, kPairs>(d, a + 4 * which, unit, first);
  }
}

template <int kCount>
__device__ __forceinline__ void Clear(float (&d)[kCount]) {
#pragma unroll
  for (float& value : d) value = 0.0f;
}

// Layers 0 and 1 → the sums of layer 1. Products of layer 0 for the next neurons, each waiting for
// the one before it, come between those of layer 1 over the present ones.
template <Operand kOperand>
__device__ __forceinline__ void MmaFirstLayers(MmaStream& stream,
                                               const tile::NetworkConstants& constants,
                                               const StateFragment<kOperand>& state, int quad,
                                               float (&h1)[128]) {
  constexpr Operand kState = tile::StateOperand(kOperand);
  constexpr int kStages = tile::MmaChunkStages(kOperand);
  constexpr int kStateWords = kOperand == Operand::kSplit ? 32 : 16;
  constexpr int kShare = kStateWords / kStages;
  constexpr int kStepWords = kState == Operand::kSplit ? 8 : 4;
  constexpr int kSteps = kShare / kStepWords;
  constexpr int kStepBytes = tile::MmaLayer0Bytes(kOperand) / kSteps;
  float h0[tile::kMmaChunk / 2];
  uint32_t a[8];
  const auto activate = [&] {
    Activate<kOperand, tile::kMmaChunk>(h0, constants.scale[0], nullptr, nullptr, quad, a);
  };
  Clear(h1);
  Clear(h0);
  MmaBlock<kState, tile::kMmaChunk, kStateWords>(h0, state.word, stream.Await());
  stream.Refill();
  activate();
#pragma unroll 1
  for (int chunk = 1; chunk < kMmaChunks; ++chunk) {
    Clear(h0);
#pragma unroll
    for (int i = 0; i < kStages; ++i) {
      const std::byte* stage = stream.Await();
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        MmaBlock<kState, tile::kMmaChunk, kStepWords>(
            h0, state.word + i * kShare + kStepWords * step, stage + kStepBytes * step);
        if (step == 0) stream.Refill();
        MmaChunkPairs<kOperand, 16 / kSteps>(h1, a, i, stage + tile::MmaLayer0Bytes(kOperand),
                                             16 / kSteps * step);
      }
    }
    activate();
  }
#pragma unroll
  for (int i = 0; i < kStages; ++i) {
    const std::byte* stage = stream.Await();
    stream.Refill();
    MmaChunkPairs<kOperand, 16>(h1, a, i, stage, 0);
  }
}

template <Operand kOperand>
__device__ __forceinline__ TileQ MmaNetworkPass(MmaStream& stream,
                                                const tile::NetworkConstants& constants,
                                                const StateFragment<kOperand>& state) {
  constexpr int kWords = 256 / tile::TileInputs(kOperand) * 16;
  const int quad = threadIdx.x % 4;
  __syncwarp();
  uint32_t hidden[kWords];
  {
    float h1[128];
    MmaFirstLayers<kOperand>(stream, constants, state, quad, h1);
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
    for (int i = 0; i < tile::MmaStreamStages(kOperand); ++i) {
      const std::byte* stage = stream.Await();
      constexpr int kUnit = static_cast<int>(tile::UnitBytes(128));
      const uint32_t* words = hidden + 8 * i;
      if constexpr (kOperand == Operand::kSplit) {
        MmaUnit<false, 128>(h2, words, stage + kUnit);
        stream.Refill();
        MmaPairsOfParts<8>(h2, words, words + 4, stage, 0);
      } else {
        MmaUnit<kOperand == Operand::kTf32, 128>(h2, words, stage);
        stream.Refill();
        MmaUnit<kOperand == Operand::kTf32, 128>(h2, words + 4, stage + kUnit);
      }
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
    const std::byte* stage = stream.Await();
    MmaBlock<kOperand, 48, 8>(out, advantage + 16 * i, stage);
    stream.Refill();
    MmaBlock<kOperand, 48, 8>(out, advantage + 16 * i + 8, stage + tile::kMmaLastBytes / 2);
  }
  AdvantageOf(out, constants, quad, q);
  return q;
}

// Sums of the curiosity model's last layer; its two layers are the next stages.
template <Operand kOperand>
__device__ __forceinline__ void MmaCuriosityPass(MmaStream& stream,
                                                 const tile::CuriosityConstants& constants,
                                                 const StateFragment<kOperand>& state,
                                                 const int (&category)[2], float (&out)[16]) {
  constexpr int kStages = tile::MmaCuriosityStages(kOperand);
  constexpr int kShare = (kOperand == Operand::kSplit ? 32 : 16) / kStages;
  constexpr int kWords = 64 / tile::TileInputs(kOperand) * 16;
  __syncwarp();
  float h0[32];
  Clear(h0);
#pragma unroll
  for (int i = 0; i < kStages; ++i) {
    MmaBlock<tile::StateOperand(kOperand), 64, kShare>(h0, state.word + i * kShare, stream.Await());
    stream.Refill();
  }
  uint32_t a[kWords];
  Activate<kOperand, 64>(h0, constants.scale[0], constants.bias0[category[0]],
                         constants.bias0[category[1]], threadIdx.x % 4, a);
  Clear(out);
  MmaBlock<kOperand, 32, kWords>(out, a, stream.Await());
  stream.Refill();
}

}  // namespace vixen::kernels
