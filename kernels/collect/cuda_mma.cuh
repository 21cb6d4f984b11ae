// SPDX-License-Identifier: Apache-2.0
// The matrix and copy instructions that the kernels name by hand.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

namespace vixen::kernels {

// d += a · b of 16×16 and 16×8 fp16 with float32 sums.
__device__ __forceinline__ void MmaF16(float* d, const uint32_t* a, uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// d += a · b of 16×8 and 8×8 tf32 with float32 sums.
__device__ __forceinline__ void MmaTf32(float* d, const uint32_t* a, uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two fp16, `low` in the low half; beyond ±65,504 clamped.
__device__ __forceinline__ uint32_t PackHalf(float low, float high) {
  uint32_t packed;
#if __CUDA_ARCH__ >= 900
  asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
#else
  low = fminf(fmaxf(low, -65504.0f), 65504.0f);
  high = fminf(fmaxf(high, -65504.0f), 65504.0f);
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
#endif
  return packed;
}

__device__ __forceinline__ float LeakyRelu(float x) { return fmaxf(x, 0.01f * x); }

// LeakyRelu of two sums as fp16: rounded first, so that it takes two instructions for both.
__device__ __forceinline__ uint32_t PackRectified(float low, float high) {
  const uint32_t packed = PackHalf(low, high);
  const __half2 x = *reinterpret_cast<const __half2*>(&packed);
  const __half2 y = __hmax2(x, __hmul2(x, __float2half2_rn(0.01f)));
  return *reinterpret_cast<const uint32_t*>(&y);
}

__device__ __forceinline__ uint32_t SharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// 16 bytes from global to shared memory, past L1.
__device__ __forceinline__ void CopyAsync16(void* shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(SharedAddress(shared)), "l"(global)
               : "memory");
}
__device__ __forceinline__ void WaitCopies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Brings the lines of `global`, 4-byte or 16-byte aligned, into L1 as well; what lands in `shared`
// is not read, and later touches land over it. A plain load whose value is unused would be left out
// by the compiler.
__device__ __forceinline__ void TouchL1([[maybe_unused]] void* shared,
                                        [[maybe_unused]] const void* global,
                                        [[maybe_unused]] bool wide) {
#if !defined(VIXEN_RACE_CHECK)
  if (wide) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(SharedAddress(shared)),
                 "l"(global)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SharedAddress(shared)),
                 "l"(global)
                 : "memory");
  }
#endif
}

}  // namespace vixen::kernels
