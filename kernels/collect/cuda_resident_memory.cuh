// SPDX-License-Identifier: Apache-2.0
// What a block of the resident kernel holds in shared memory, and the barriers that its roles meet
// at. Each block of a cluster of two carries the rules of `kEpisodes` episodes and half of the
// network for the 2 · kEpisodes of both.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/collect/cuda_cluster.cuh"
#include "kernels/collect/cuda_resident_operand.cuh"

namespace vixen::kernels::resident {

inline constexpr int kMatrixThreads = 32 * kWarps;
inline constexpr int kHelperWarps = 4;
inline constexpr int kHelperThreads = 32 * kHelperWarps;
inline constexpr int kResidentThreads = kMatrixThreads + kHelperThreads;
// Registers a thread of each role. The block starts with 168 a thread (launch bounds), and its
// roles can share no more than those.
inline constexpr int kMatrixRegisters = 216;
inline constexpr int kHelperRegisters = 72;
static_assert(kMatrixRegisters * kMatrixThreads + kHelperRegisters * kHelperThreads <=
              168 * kResidentThreads);

// How a kernel multiplies: the form of the weights, episodes a block, and parts of an activation.
// Of two parts each is a row of fp16, the high halves and the low halves · 2^11: eight columns of a
// product have room for both, so that the low halves cost no further product.
template <Operand kOperandOf, int kEpisodesOf, int kPartsOf>
struct Form {
  static constexpr Operand kOperand = kOperandOf;
  static constexpr int kEpisodes = kEpisodesOf;
  static constexpr int kParts = kPartsOf;
  static_assert(kEpisodes == 8 || kEpisodes == 1);
  static_assert(kParts == 1 || (kEpisodes == 1 && kOperand != Operand::kTf32));

  // Of a row of activations.
  static constexpr Operand kRow = kParts == 1 ? kOperand : Operand::kFp16;
  using Pair = PairOf<kRow>;
  using Unit = UnitOf<kRow>;
  static constexpr int kPairBytes = sizeof(Pair);
  // Padded so that the rows that a load reads together are in different banks.
  static constexpr int kHiddenBytes = (tile::kHidden / 2 + 8) * kPairBytes;
  static constexpr int kStateBytes = (tile::kStateWidth / 2 + 8) * kPairBytes;

  // Neighbouring activations as each part's words.
  __device__ __forceinline__ static void Pack(const float (&v)[2], Pair (&words)[kParts]) {
    if constexpr (kParts == 1) {
      words[0] = MakePair<kOperand>(v[0], v[1]);
    } else {
      const uint2 halves = MakePair<Operand::kSplit>(v[0], v[1]);
      words[0] = halves.x;
      words[1] = halves.y;
    }
  }
  __device__ __forceinline__ static void Pack(const float (&v)[4], Unit (&words)[kParts]) {
    if constexpr (kParts == 1) {
      words[0] = MakeUnit<kOperand>(v[0], v[1], v[2], v[3]);
    } else {
      const uint4 halves = MakeUnit<Operand::kSplit>(v[0], v[1], v[2], v[3]);
      words[0] = make_uint2(halves.x, halves.z);
      words[1] = make_uint2(halves.y, halves.w);
    }
  }

  // Fragments of a warp's layer 2 that stay in registers; the others are in shared memory, which
  // more episodes leave less of.
  static constexpr int kRegisterGroups2 = kOperand == Operand::kFp16 ? kGroups1
                                          : kEpisodes == 1           ? 3
                                                                     : 4;
};

inline constexpr int kOutputs = 64;  // three blocks of advantages, the value first of the fourth
inline constexpr int kValueOutput = 48;

inline constexpr int kOutputBarrier = 2;

template <typename F>
struct ResidentMemory {
  using FormOf = F;
  static constexpr int kEpisodes = F::kEpisodes;
  static constexpr int kPlanes = FragmentWords(F::kOperand) / 4;
  static constexpr int kShared2 = kGroups1 - F::kRegisterGroups2;
  static constexpr int kOutputSets = kEpisodes == 1 ? 2 : 1;

  uint4 layer0[kWarps][2 * kGroups0][kPlanes][32];
  uint4 layer2[kWarps][kShared2 > 0 ? kShared2 : 1][kPlanes][32];
  uint4 layer3[kBlocks3][kGroups3][kPlanes][32];
  alignas(16) std::byte hidden[2][F::kParts][2 * kEpisodes][F::kHiddenBytes];
  // The market's columns of the two states that the next step may start from: goes on, starts anew.
  alignas(16) std::byte state[F::kParts][2][kEpisodes][F::kStateBytes];
  float outputs[kOutputSets][kCluster][kEpisodes][kOutputs];  // [set][from rank]
  float4 portfolio[kEpisodes];  // features of the step's state, then which of the two
  float4 portfolio_weights[4][tile::kHidden / 4];  // [neuron % 4][neuron / 4]
  float bias0[tile::kHidden];
  float bias1[128];  // of this rank's neurons
  float bias2[128];
  float bias3[kOutputs];
  uint64_t barriers[3];

  // Hidden layer 0 and 1 of every episode, the outputs of this block's.
  __device__ __forceinline__ ByteBarrier arrived(int which) const {
    return {SharedAddress(barriers + which)};
  }
  // Helpers: until a step's outputs are there.
  __device__ __forceinline__ void AwaitOutputs(uint32_t step) const {
    arrived(kOutputBarrier).Wait(step & 1);
  }
  // Helpers, one thread, once a step after that.
  __device__ __forceinline__ void ExpectOutputs() const;
};

// Bytes that a phase of each barrier brings: from the other block, the outputs from both.
template <typename F>
__device__ constexpr uint32_t ArrivingBytes(int which) {
  return which == 0   ? F::kEpisodes * 128 * F::kParts * F::kPairBytes
         : which == 1 ? 2 * F::kEpisodes * 64 * F::kParts * F::kPairBytes
                      : kCluster * F::kEpisodes * kOutputs * sizeof(float);
}
template <typename F>
__device__ __forceinline__ void ResidentMemory<F>::ExpectOutputs() const {
  arrived(kOutputBarrier).Expect(ArrivingBytes<F>(kOutputBarrier));
}

// The roles' code paths differ, so the barriers are of the kind that does not ask a warp's lanes to
// arrive together.
template <int kBarrier, int kThreads>
__device__ __forceinline__ void SyncRoles() {
  asm volatile("barrier.sync %0, %1;" ::"n"(kBarrier), "n"(kThreads) : "memory");
}
template <int kBarrier, int kThreads>
__device__ __forceinline__ void ArriveForRoles() {
  asm volatile("barrier.arrive %0, %1;" ::"n"(kBarrier), "n"(kThreads) : "memory");
}
// Barriers of a step that the matrix warps meet at alone.
inline constexpr int kMatrixBarriers = 3;
#if defined(VIXEN_RACE_CHECK)
// racecheck loses the order of accesses where warps of a block pass counted barriers that others do
// not (docs/gpu-validation.md), so here every barrier is the block's one: each thread passes the
// same number of them in a step, in an order that keeps every pair apart which the others do.
__device__ __forceinline__ void SyncBlock() {
  __syncwarp();
  __syncthreads();
}
__device__ __forceinline__ void SyncMatrix() { SyncBlock(); }
__device__ __forceinline__ void PassMatrix() {
  for (int i = 0; i < kMatrixBarriers; ++i) SyncBlock();
}
template <int kEpisodes>
__device__ __forceinline__ void ArriveWithStates() {
  SyncBlock();
}
template <int kEpisodes>
__device__ __forceinline__ void WaitForStates() {
  SyncBlock();
}
__device__ __forceinline__ void PassStates() { SyncBlock(); }
__device__ __forceinline__ void ArriveWithOutputs() { SyncBlock(); }
__device__ __forceinline__ void WaitForOutputs() { SyncBlock(); }
__device__ __forceinline__ void SyncSpeculators() { SyncBlock(); }
__device__ __forceinline__ void ArriveForSpeculators() {}
template <int kEpisodes>
__device__ __forceinline__ void PassSpeculators() {
  if constexpr (kEpisodes == 1) SyncBlock();
}
#else
// All: the next step's state is there.
__device__ __forceinline__ void SyncBlock() { SyncRoles<0, kResidentThreads>(); }
// The matrix warps among themselves.
__device__ __forceinline__ void SyncMatrix() { SyncRoles<1, kMatrixThreads>(); }
__device__ __forceinline__ void PassMatrix() {}
// Those helpers that bring the market's columns of the next states arrive, matrix warps wait.
template <int kEpisodes>
inline constexpr int kStateThreads = kMatrixThreads + (kEpisodes == 1 ? 32 : kHelperThreads);
template <int kEpisodes>
__device__ __forceinline__ void ArriveWithStates() {
  ArriveForRoles<2, kStateThreads<kEpisodes> >();
}
template <int kEpisodes>
__device__ __forceinline__ void WaitForStates() {
  SyncRoles<2, kStateThreads<kEpisodes> >();
}
// Helpers that bring none.
__device__ __forceinline__ void PassStates() {}
// Without clusters: matrix warps arrive with a step's outputs, helpers wait.
__device__ __forceinline__ void ArriveWithOutputs() { ArriveForRoles<4, kResidentThreads>(); }
__device__ __forceinline__ void WaitForOutputs() { SyncRoles<4, kResidentThreads>(); }
// The speculating helpers among themselves, once the carrier has read what they write next.
__device__ __forceinline__ void SyncSpeculators() { SyncRoles<3, kHelperThreads>(); }
__device__ __forceinline__ void ArriveForSpeculators() { ArriveForRoles<3, kHelperThreads>(); }
template <int kEpisodes>
__device__ __forceinline__ void PassSpeculators() {}
#endif

}  // namespace vixen::kernels::resident
