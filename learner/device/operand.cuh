// SPDX-License-Identifier: Apache-2.0
// Operands of the matrix instructions. Every product is D[16·m, 8·n] += A·B with A row-major and B
// column-major, both with k contiguous; a step is 32 bytes of k: 8 float32 (tf32) or 16 bf16. An
// operand *image* keeps A in the order in which the lanes of a warp take it, so that a step of a
// tile is one coalesced load of 16 bytes a lane from L2, without shared memory.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "learner/device/network_layout.h"

namespace vixen::learner {

template <DevicePrecision kPrecision>
struct Operand;

// Without matrix instructions for float32: the fragments of a step by shuffles, one fused
// multiply-add a product.
__device__ __forceinline__ void MmaFp32(float* d, const uint32_t* a, uint32_t b0, uint32_t b1) {
  const int lane = static_cast<int>(threadIdx.x & 31);
  const int group = lane & ~3, column = (lane & 3) * 8;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const uint32_t b = half == 0 ? b0 : b1;
#pragma unroll 1
    for (int from = 0; from < 4; ++from) {
      const float low = __uint_as_float(__shfl_sync(~0u, a[2 * half], group + from));
      const float high = __uint_as_float(__shfl_sync(~0u, a[2 * half + 1], group + from));
      const float left = __uint_as_float(__shfl_sync(~0u, b, column + from));
      const float right = __uint_as_float(__shfl_sync(~0u, b, column + 4 + from));
      d[0] = fmaf(low, left, d[0]);
      d[1] = fmaf(low, right, d[1]);
      d[2] = fmaf(high, left, d[2]);
      d[3] = fmaf(high, right, d[3]);
    }
  }
}

template <>
struct Operand<DevicePrecision::kFp32> {
  using Type = float;
  static __device__ __forceinline__ float Round(float x) { return x; }
  static __device__ __forceinline__ void Mma(float* d, const uint32_t* a, uint32_t b0,
                                             uint32_t b1) {
    MmaFp32(d, a, b0, b1);
  }
};

template <>
struct Operand<DevicePrecision::kTf32> {
  using Type = float;
  // To the nearest; of two as near the even one from sm_90 on, where that is one instruction and
  // the other three.
  static __device__ __forceinline__ float Round(float x) {
#if __CUDA_ARCH__ >= 900
    uint32_t rounded;
    asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
    return __uint_as_float(rounded);
#elif __CUDA_ARCH__ >= 800
    uint32_t rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
    return __uint_as_float(rounded);
#else
    return x;
#endif
  }
  static __device__ __forceinline__ void Mma(float* d, const uint32_t* a, uint32_t b0,
                                             uint32_t b1) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    MmaFp32(d, a, b0, b1);  // not reached: such a device computes in float32
#endif
  }
};

template <>
struct Operand<DevicePrecision::kBf16> {
  using Type = __nv_bfloat16;
  static __device__ __forceinline__ __nv_bfloat16 Round(float x) { return __float2bfloat16_rn(x); }
  static __device__ __forceinline__ void Mma([[maybe_unused]] float* d,
                                             [[maybe_unused]] const uint32_t* a,
                                             [[maybe_unused]] uint32_t b0,
                                             [[maybe_unused]] uint32_t b1) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    __trap();               // refused at the start
#endif
  }
};

// k of a step.
template <typename Type>
inline constexpr int kStepOf = 32 / static_cast<int>(sizeof(Type));

// Where A[m, k] of a matrix with `inputs` columns is in its image, in elements.
template <typename Type>
__device__ __forceinline__ uint32_t ImageIndex(uint32_t m, uint32_t k, uint32_t inputs) {
  constexpr uint32_t kStep = kStepOf<Type>;
  constexpr uint32_t kPacked = 4 / sizeof(Type);  // elements a register
  const uint32_t inner = k % kStep;
  const uint32_t lane = (m % 8) * 4 + inner / kPacked % 4;
  const uint32_t part = (m % 16) / 8 + inner / (4 * kPacked) * 2;
  const uint32_t step = (m / 16) * (inputs / kStep) + k / kStep;
  return ((step * 32 + lane) * 4 + part) * kPacked + inner % kPacked;
}

// Four 8×16-byte matrices from shared memory; lane l gives the row l % 8 of matrix l / 8.
__device__ __forceinline__ void LoadMatrices(uint32_t* to, uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

__device__ __forceinline__ uint32_t SharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// 16 bytes from global to shared memory.
__device__ __forceinline__ void CopyToShared(void* shared, const void* global) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(SharedAddress(shared)), "l"(global)
               : "memory");
#else
  *static_cast<uint4*>(shared) = *static_cast<const uint4*>(global);
#endif
}
__device__ __forceinline__ void CloseCopies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// All but the newest `kOpen` groups are there, for this thread.
template <int kOpen>
__device__ __forceinline__ void WaitForCopies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kOpen) : "memory");
#endif
}

}  // namespace vixen::learner
