// SPDX-License-Identifier: Apache-2.0
// wgmma of 64 rows (A, 32 bytes of inputs: 16 fp16 or 8 tf32) by N neurons (B in shared memory, by
// descriptor), float32 sums: A in registers for N = 16, 32, 48, 64, 128, 192, 256; A in shared
// memory, tf32, for N = 64, 256. sm_90a.
#pragma once

#include <cstdint>

namespace vixen::kernels {

// B tiles of 128-byte rows in the 128-byte swizzle; `address` in shared memory, tiles
// 1,024-aligned.
__device__ __forceinline__ uint64_t TileDescriptor(uint32_t address) {
  return static_cast<uint64_t>((address & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) |
         (1ull << 62);
}

__device__ __forceinline__ void WgmmaFence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void WgmmaCommit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// At most kPending groups are still under way after it.
template <int kPending>
__device__ __forceinline__ void WgmmaWait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// `accumulate` 0 overwrites d. `a`: four words.
template <bool kTf32, int kNeurons>
__device__ __forceinline__ void Wgmma(float (&d)[kNeurons / 2], const uint32_t* a,
                                      uint64_t descriptor, int accumulate);

template <int kNeurons>
__device__ __forceinline__ void WgmmaShared(float (&d)[kNeurons / 2], uint64_t a, uint64_t b,
                                            int accumulate);

// Operands %0 … of the sums in 16 registers from `i`, and their names.
#define VIXEN_SUMS8(i)                                                                \
  "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3]), "+f"(d[(i) + 4]), \
      "+f"(d[(i) + 5]), "+f"(d[(i) + 6]), "+f"(d[(i) + 7])
#define VIXEN_SUMS16(i) VIXEN_SUMS8(i), VIXEN_SUMS8((i) + 8)
#define VIXEN_SUMS32(i) VIXEN_SUMS16(i), VIXEN_SUMS16((i) + 16)
#define VIXEN_SUMS64(i) VIXEN_SUMS32(i), VIXEN_SUMS32((i) + 32)
#define VIXEN_NAMES8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define VIXEN_NAMES16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define VIXEN_NAMES24 \
  VIXEN_NAMES16       \
  ", "                \
  "%16, %17, %18, %19, %20, %21, %22, %23"
#define VIXEN_NAMES32 \
  VIXEN_NAMES24       \
  ", "                \
  "%24, %25, %26, %27, %28, %29, %30, %31"
#define VIXEN_NAMES64                                                                \
  VIXEN_NAMES32                                                                      \
  ", "                                                                               \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define VIXEN_NAMES96                                                                \
  VIXEN_NAMES64                                                                      \
  ", "                                                                               \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define VIXEN_NAMES128                                                             \
  VIXEN_NAMES96                                                                    \
  ", "                                                                             \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, "     \
  "%109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, " \
  "%122, %123, %124, %125, %126, %127"

#define VIXEN_WGMMA(tf32, neurons, shape, tail, names, a_names, descriptor_name, flag_name, ...)  \
  template <>                                                                                     \
  __device__ __forceinline__ void Wgmma<tf32, neurons>(                                           \
      float(&d)[(neurons) / 2], const uint32_t* a, uint64_t descriptor, int accumulate) {         \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " flag_name                                    \
                 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #neurons shape " {" names              \
                 "}, {" a_names "}, " descriptor_name ", p, 1, 1" tail ";\n}"                     \
                 : __VA_ARGS__                                                                    \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(descriptor), "r"(accumulate)); \
  }
#define VIXEN_WGMMA_BOTH(neurons, names, a_names, descriptor_name, flag_name, ...)               \
  VIXEN_WGMMA(false, neurons, "k16.f32.f16.f16", ", 0", names, a_names, descriptor_name,         \
              flag_name, __VA_ARGS__)                                                            \
  VIXEN_WGMMA(true, neurons, "k8.f32.tf32.tf32", "", names, a_names, descriptor_name, flag_name, \
              __VA_ARGS__)
VIXEN_WGMMA_BOTH(16, VIXEN_NAMES8, "%8, %9, %10, %11", "%12", "%13", VIXEN_SUMS8(0))
VIXEN_WGMMA_BOTH(32, VIXEN_NAMES16, "%16, %17, %18, %19", "%20", "%21", VIXEN_SUMS16(0))
VIXEN_WGMMA_BOTH(48, VIXEN_NAMES24, "%24, %25, %26, %27", "%28", "%29", VIXEN_SUMS16(0),
                 VIXEN_SUMS8(16))
VIXEN_WGMMA_BOTH(64, VIXEN_NAMES32, "%32, %33, %34, %35", "%36", "%37", VIXEN_SUMS32(0))
VIXEN_WGMMA_BOTH(128, VIXEN_NAMES64, "%64, %65, %66, %67", "%68", "%69", VIXEN_SUMS64(0))
VIXEN_WGMMA_BOTH(192, VIXEN_NAMES96, "%96, %97, %98, %99", "%100", "%101", VIXEN_SUMS64(0),
                 VIXEN_SUMS32(64))
VIXEN_WGMMA_BOTH(256, VIXEN_NAMES128, "%128, %129, %130, %131", "%132", "%133", VIXEN_SUMS64(0),
                 VIXEN_SUMS64(64))

#define VIXEN_WGMMA_SHARED(neurons, names, a_name, b_name, flag_name, ...)                     \
  template <>                                                                                  \
  __device__ __forceinline__ void WgmmaShared<neurons>(float(&d)[(neurons) / 2], uint64_t a,   \
                                                       uint64_t b, int accumulate) {           \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " flag_name                                 \
                 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #neurons "k8.f32.tf32.tf32 {" names \
                 "}, " a_name ", " b_name ", p, 1, 1;\n}"                                      \
                 : __VA_ARGS__                                                                 \
                 : "l"(a), "l"(b), "r"(accumulate));                                           \
  }
VIXEN_WGMMA_SHARED(64, VIXEN_NAMES32, "%32", "%33", "%34", VIXEN_SUMS32(0))
VIXEN_WGMMA_SHARED(256, VIXEN_NAMES128, "%128", "%129", "%130", VIXEN_SUMS64(0), VIXEN_SUMS64(64))

#undef VIXEN_WGMMA_SHARED
#undef VIXEN_WGMMA_BOTH
#undef VIXEN_WGMMA
#undef VIXEN_NAMES128
#undef VIXEN_NAMES96
#undef VIXEN_NAMES64
#undef VIXEN_NAMES32
#undef VIXEN_NAMES24
#undef VIXEN_NAMES16
#undef VIXEN_NAMES8
#undef VIXEN_SUMS64
#undef VIXEN_SUMS32
#undef VIXEN_SUMS16
#undef VIXEN_SUMS8

}  // namespace vixen::kernels
