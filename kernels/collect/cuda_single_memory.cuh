// SPDX-License-Identifier: Apache-2.0
// What a block of the resident kernel without clusters (sm_80 … sm_89) holds in shared memory, and
// where each fragment of the network lives. 99 KB of shared memory and the registers hold about
// half of the 304 KB of fp16 weights; the rest comes from the L2 cache in every step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/collect/cuda_resident_memory.cuh"

namespace vixen::kernels::resident {

// Of a warp's fragments of each half (rank, in the image's words) of layers 1 and 2, by group: the
// first kStreamedFirst come from L2, then kInRegisters stay in registers, kInShared in shared
// memory, the rest comes from L2. Those of layer 0 and of the last layers all come from L2.
inline constexpr int kStreamedFirst = 4;
inline constexpr int kInRegisters = 5;
inline constexpr int kInShared = 4;
inline constexpr int kStreamedLast = kGroups1 - kStreamedFirst - kInRegisters - kInShared;
inline constexpr int kFirstShared = kStreamedFirst + kInRegisters;
inline constexpr int kFirstLast = kFirstShared + kInShared;
// Fragments on their way at any time: a ring of registers. A step uses each place equally often, so
// that the next step begins where this one did.
inline constexpr int kOnTheWay = 8;
static_assert((2 * 2 * (kStreamedFirst + kStreamedLast) + kGroups3 + 2 * kGroups0) % kOnTheWay ==
              0);
static_assert(2 * kStreamedFirst == kOnTheWay);

template <typename F>
struct SingleMemory {
  using FormOf = F;
  static constexpr int kEpisodes = F::kEpisodes;
  static_assert(F::kOperand == Operand::kFp16);
  // Rows of hidden activations a part; of one episode the second row stays zero.
  static constexpr int kRows = kEpisodes == 1 ? 2 : kEpisodes;
  static constexpr int kOutputSets = kEpisodes == 1 ? 2 : 1;

  uint4 layer1[kWarps][kCluster][kInShared][32];
  uint4 layer2[kWarps][kCluster][kInShared][32];
  alignas(16) std::byte hidden[2][F::kParts][kRows][F::kHiddenBytes];
  // The market's columns of the two states that the next step may start from: goes on, starts anew.
  alignas(16) std::byte state[F::kParts][2][kEpisodes][F::kStateBytes];
  float outputs[kOutputSets][2][kEpisodes][kOutputs];  // [set][from which half of the inputs]
  float4 portfolio[kEpisodes];  // features of the step's state, then which of the two
  float4 portfolio_weights[4][tile::kHidden / 4];  // [neuron % 4][neuron / 4]
  float bias0[tile::kHidden];
  float bias1[tile::kHidden];
  float bias2[tile::kHidden];
  float bias3[kOutputs];

  // Helpers: until a step's outputs are there.
  __device__ __forceinline__ void AwaitOutputs(uint32_t) const { WaitForOutputs(); }
  // Helpers, one thread, once a step after that.
  __device__ __forceinline__ void ExpectOutputs() const {}
  // Matrix warps: a step's outputs are written.
  __device__ __forceinline__ void AnnounceOutputs() const { ArriveWithOutputs(); }
};

}  // namespace vixen::kernels::resident
