// SPDX-License-Identifier: Apache-2.0
// Weights on their way through shared memory: a ring of stages that one thread fills by bulk copies
// and that warpgroups empty; and the token by which two warpgroups take turns at the matrix units.
// sm_90a.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/collect/cuda_mma.cuh"
#include "kernels/collect/cuda_tile_layout.h"

namespace vixen::kernels {

inline constexpr int kRing = 5;  // stages in shared memory

// `kGroups` warpgroups of 64 rows, and one whose first thread streams the weights.
template <int kGroups>
constexpr int TileThreads() {
  return 128 * (kGroups + 1);
}

__device__ __forceinline__ void BarrierInit(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void BarrierFenceInit() {
  asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void BarrierExpect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void BarrierArrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void BarrierWait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred p;\nwait:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra.uni done;\nbra.uni wait;\ndone:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// At a multiple of 1,024 where its tiles are swizzled.
template <int kStages, int kStageBytes>
struct alignas(16) RingMemoryOf {
  std::byte stages[kStages * kStageBytes];
  uint64_t full[kStages];
  uint64_t empty[kStages];
};

template <int kStages, int kStageBytes>
struct RingOf {
  using Memory = RingMemoryOf<kStages, kStageBytes>;
  uint32_t memory;  // shared memory address of a Memory
  int place = 0;
  uint32_t parity = 0;

  __device__ __forceinline__ uint32_t Full(int which) const {
    return memory + offsetof(Memory, full) + 8 * which;
  }
  __device__ __forceinline__ uint32_t Empty(int which) const {
    return memory + offsetof(Memory, empty) + 8 * which;
  }
  __device__ __forceinline__ uint32_t Stage() const { return memory + place * kStageBytes; }
  __device__ __forceinline__ void Advance() {
    if (++place == kStages) {
      place = 0;
      parity ^= 1;
    }
  }
  __device__ __forceinline__ int Before() const { return place == 0 ? kStages - 1 : place - 1; }
  // Consumer: address of the stage that comes next, filled.
  __device__ __forceinline__ uint32_t Wait() const {
    BarrierWait(Full(place), parity);
    return Stage();
  }
  // Consumer: this warp is done with stage `which`.
  __device__ __forceinline__ void Release(int which, int lane) const {
    __syncwarp();
    if (lane == 0) BarrierArrive(Empty(which));
  }
  // Producer: waits until the next stage is empty and announces the bytes that it gets.
  __device__ __forceinline__ void Open(uint32_t bytes) const {
    BarrierWait(Empty(place), parity ^ 1);
    BarrierExpect(Full(place), bytes);
  }
  // Producer: copies a part of what was announced to `offset` of the stage.
  __device__ __forceinline__ void Copy(uint32_t offset, const void* source, uint32_t bytes) const {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(Stage() + offset),
        "l"(source), "r"(bytes), "r"(Full(place))
        : "memory");
  }
  // Producer: fills the next stage.
  __device__ __forceinline__ void Fill(const void* source, uint32_t bytes) {
    Open(bytes);
    Copy(0, source, bytes);
    Advance();
  }
};
using RingMemory = RingMemoryOf<kRing, tile::kStageBytes>;
using Ring = RingOf<kRing, tile::kStageBytes>;

// Thread 0 initialises; a barrier of the block must follow.
template <int kStages, int kStageBytes>
__device__ __forceinline__ RingOf<kStages, kStageBytes> StartRing(
    RingMemoryOf<kStages, kStageBytes>& memory, int consumer_warps) {
  const RingOf<kStages, kStageBytes> ring{SharedAddress(&memory)};
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      BarrierInit(ring.Full(i), 1);
      BarrierInit(ring.Empty(i), consumer_warps);
    }
    BarrierFenceInit();
  }
  return ring;
}

// Producer thread: streams one network pass through the ring.
template <tile::Operand kOperand>
__device__ __forceinline__ void StreamPass(Ring& ring, const std::byte* image) {
#pragma unroll 1
  for (int stage = 0; stage < tile::Stages(kOperand); ++stage) {
    const uint32_t bytes = tile::StageBytes(kOperand, stage);
    ring.Fill(image, bytes);
    image += bytes;
  }
}

// Two warpgroups in step would use the matrix units together and then, together, leave them idle
// while they compute activations. The token keeps one of them half a pass behind: a warpgroup that
// holds it issues four stages' products, then hands it on. One warpgroup alone has no use for it.
template <int kGroups>
struct Token {
  int mine;  // named barrier of this warpgroup: 1 or 2

  // The first warpgroup may begin.
  __device__ __forceinline__ static Token Start(int group) {
    const Token token{1 + group};
    if (group == 1) token.Pass();
    return token;
  }
  __device__ __forceinline__ void Take() const {
    if constexpr (kGroups == 2) asm volatile("bar.sync %0, 256;" ::"r"(mine) : "memory");
  }
  __device__ __forceinline__ void Pass() const {
    if constexpr (kGroups == 2) asm volatile("bar.arrive %0, 256;" ::"r"(3 - mine) : "memory");
  }
  // Both have passed it equally often: the last one that passed to the first is waited for.
  __device__ __forceinline__ void End(int group) const {
    if (group == 0) Take();
  }
};

template <int kGroups>
__device__ __forceinline__ void TakeRegisters() {
  if constexpr (kGroups == 2) asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
}
template <int kGroups>
__device__ __forceinline__ void GiveRegisters() {
  if constexpr (kGroups == 2) asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
}

}  // namespace vixen::kernels
