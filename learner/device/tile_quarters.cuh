// SPDX-License-Identifier: Apache-2.0
// How the four warpgroups of a pass share the block's inputs without waiting for one another where
// they need not. Each overwrites the quarter that its 64 outputs are of the next layer's inputs. It
// may as soon as all have multiplied what was there, and they may read it as soon as it is written:
// so one warpgroup stores its outputs while others keep the matrix units busy. They begin the first
// layer one after the other and so stay apart; its inputs lie in the last quarters, which are
// overwritten last. sm_90a.
#pragma once

#include <cstdint>

#include "kernels/collect/cuda_ring.cuh"
#include "learner/device/tile_table.cuh"

namespace vixen::learner::tile {

// Between ordinary stores to shared memory and products that read them.
__device__ __forceinline__ void FenceForProducts() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ uint32_t Group() { return __shfl_sync(~0u, threadIdx.x / 128, 0); }

// A value that is not computed anew wherever it is needed, where its registers would be.
__device__ __forceinline__ uint32_t InRegister(uint32_t value) {
  asm volatile("" : "+r"(value));
  return value;
}

// In shared memory.
struct QuarterBarriers {
  uint64_t written[kGroups];  // a phase is the four warps of the quarter's group
  uint64_t read[kGroups];     // a phase is all warps
  uint64_t turn[kGroups];     // one phase, the four warps of the group before
};

class Quarters {
 public:
  // A barrier of the block must follow.
  __device__ __forceinline__ explicit Quarters(QuarterBarriers& barriers)
      : barriers_(InRegister(kernels::SharedAddress(&barriers))) {
    if (threadIdx.x != 0) return;
    for (uint32_t quarter = 0; quarter < kGroups; ++quarter) {
      kernels::BarrierInit(Written(quarter), 4);
      kernels::BarrierInit(Read(quarter), 4 * kGroups);
      kernels::BarrierInit(Turn(quarter), 4);
    }
    kernels::BarrierFenceInit();
  }

  // Once for each quarter that a layer behind the first reads.
  __device__ __forceinline__ void WaitUntilWritten(uint32_t quarter) {
    kernels::BarrierWait(Written(quarter), phases_ >> quarter & 1);
    phases_ ^= 1u << quarter;
  }
  // This warp has read a quarter for the last time.
  __device__ __forceinline__ void TellRead(uint32_t quarter) const {
    __syncwarp();
    if (threadIdx.x % 32 == 0) kernels::BarrierArrive(Read(quarter));
  }
  // Of this group's quarter, once for each layer that read it.
  __device__ __forceinline__ void WaitUntilRead() {
    kernels::BarrierWait(Read(Group()), phases_ >> kGroups & 1);
    phases_ ^= 1u << kGroups;
  }
  // This warp has stored its part of its group's quarter, which the next layer reads.
  __device__ __forceinline__ void TellWritten() const {
    FenceForProducts();
    const uint32_t barrier = Written(Group());  // a shuffle of the whole warp
    __syncwarp();
    if (threadIdx.x % 32 == 0) kernels::BarrierArrive(barrier);
  }

  // Of this group, in the first layer; and that the next may begin.
  __device__ __forceinline__ void WaitForTurn() const {
    if (const uint32_t group = Group(); group > 0) kernels::BarrierWait(Turn(group), 0);
  }
  __device__ __forceinline__ void PassTurnOn() const {
    const uint32_t next = Group() + 1;
    if (next < kGroups && threadIdx.x % 32 == 0) kernels::BarrierArrive(Turn(next));
  }

 private:
  __device__ __forceinline__ uint32_t Written(uint32_t quarter) const {
    return barriers_ + 8 * quarter;
  }
  __device__ __forceinline__ uint32_t Read(uint32_t quarter) const {
    return barriers_ + 8 * (kGroups + quarter);
  }
  __device__ __forceinline__ uint32_t Turn(uint32_t group) const {
    return barriers_ + 8 * (2 * kGroups + group);
  }

  uint32_t barriers_;    // address of a QuarterBarriers
  uint32_t phases_ = 0;  // parities: of the four quarters' writes, of the own quarter's reads
};

}  // namespace vixen::learner::tile
