// SPDX-License-Identifier: Apache-2.0
// Shared memory of a thread-block cluster: stores into the other block's memory that count on a
// barrier there. sm_90.
#pragma once

#include <cstdint>

#include "kernels/collect/cuda_mma.cuh"

namespace vixen::kernels {

__device__ __forceinline__ uint32_t ClusterRank() {
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// Address in block `rank` of what is at `address` in this one.
__device__ __forceinline__ uint32_t InBlock(uint32_t address, uint32_t rank) {
  uint32_t remote;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
  return remote;
}

// What the compiler keeps in a register instead of reading special registers again where the value
// is needed at once.
__device__ __forceinline__ uint32_t Kept(uint32_t value) {
  asm volatile("" : "+r"(value));
  return value;
}

// Every thread of every block.
__device__ __forceinline__ void SyncCluster() {
  __syncwarp();
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}

// A barrier of shared memory whose phases end when the bytes announced for them have arrived.
struct ByteBarrier {
  uint32_t address;

  __device__ __forceinline__ void Start() const {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address) : "memory");
  }
  // Announces the bytes of the present phase; once a phase.
  __device__ __forceinline__ void Expect(uint32_t bytes) const {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address), "r"(bytes)
                 : "memory");
  }
  // Until the phase of this parity ended.
  __device__ __forceinline__ void Wait(uint32_t parity) const {
    asm volatile(
        "{\n.reg .pred p;\nwait:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
        "@p bra.uni done;\nbra.uni wait;\ndone:\n}" ::"r"(address),
        "r"(parity)
        : "memory");
  }
};

__device__ __forceinline__ void FenceBarrierStart() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Stores that count on `barrier`; both addresses of the same block.
__device__ __forceinline__ void StoreAsync(uint32_t address, uint32_t value, uint32_t barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(
          address),
      "r"(value), "r"(barrier)
      : "memory");
}
__device__ __forceinline__ void StoreAsync(uint32_t address, uint2 value, uint32_t barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1,%2}, [%3];" ::
          "r"(address),
      "r"(value.x), "r"(value.y), "r"(barrier)
      : "memory");
}
__device__ __forceinline__ void StoreAsync(uint32_t address, uint4 value, uint32_t barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1,%2,%3,%4}, "
      "[%5];" ::"r"(address),
      "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w), "r"(barrier)
      : "memory");
}

}  // namespace vixen::kernels
