// SPDX-License-Identifier: Apache-2.0
// What stays in L2 between the kernels of an update. Inputs and gradients of all layers are 54 MB
// at 8,192 rows, more than L2 holds: the gradients, read by the next kernel and overwritten in the
// next update, stay; the inputs make room. sm_90a.
#pragma once

#include <cstdint>

namespace vixen::learner::tile {

__device__ __forceinline__ uint64_t KeptInL2() {
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
__device__ __forceinline__ uint64_t FirstOutOfL2() {
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

__device__ __forceinline__ void Store(float4* to, const float4& value, uint64_t policy) {
  asm volatile("st.global.L2::cache_hint.v4.f32 [%0], {%1,%2,%3,%4}, %5;" ::"l"(to), "f"(value.x),
               "f"(value.y), "f"(value.z), "f"(value.w), "l"(policy)
               : "memory");
}
// `bytes` to an address of shared memory, which `barrier` counts.
__device__ __forceinline__ void CopyBulk(uint32_t to, const void* from, uint32_t bytes,
                                         uint32_t barrier, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1], %2, [%3], %4;" ::"r"(to),
      "l"(from), "r"(bytes), "r"(barrier), "l"(policy)
      : "memory");
}

}  // namespace vixen::learner::tile
