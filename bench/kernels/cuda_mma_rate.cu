// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/cuda_mma_rate.h"

#include <cstdint>

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#include "kernels/collect/cuda_mma.cuh"
#endif

namespace vixen::bench {
namespace {

constexpr int kThreads = 256;
constexpr int kChains = 8;
constexpr int kRounds = 4096;

// Grid: one block an SM.
template <MmaShape kShape>
__global__ void __launch_bounds__(kThreads) MmaRateKernel([[maybe_unused]] float* sink) {
#if __CUDA_ARCH__ >= 800
  // Numbers between ±1: zeros would draw less power and run at a higher clock.
  uint32_t random = threadIdx.x * 2654435761u + blockIdx.x * 40503u + 1;
  const auto next = [&random] {
    random = random * 1664525u + 1013904223u;
    const float first = static_cast<float>(random >> 8) * 0x1p-23f - 1.0f;
    const float second = static_cast<float>(random >> 3 & 0xffffff) * 0x1p-23f - 1.0f;
    return kShape == MmaShape::kFp16 ? kernels::PackHalf(first, second) : __float_as_uint(first);
  };
  uint32_t a[4], b[2];
  for (uint32_t& word : a) word = next();
  for (uint32_t& word : b) word = next();
  float sums[kChains][4] = {};
  for (int round = 0; round < kRounds; ++round) {
#pragma unroll
    for (auto& sum : sums) {
      if constexpr (kShape == MmaShape::kFp16) {
        kernels::MmaF16(sum, a, b[0], b[1]);
      } else {
        kernels::MmaTf32(sum, a, b[0], b[1]);
      }
    }
  }
  float total = 0.0f;
  for (const auto& sum : sums) total += sum[0] + sum[1] + sum[2] + sum[3];
  if (total != total) *sink = total;  // keeps the sums
#endif
}

}  // namespace

double MmaRateFlops(MmaShape shape, int multiprocessors) {
  const double a_product = 2.0 * 16 * 8 * (shape == MmaShape::kFp16 ? 16 : 8);
  return a_product * kRounds * kChains * (kThreads / 32) * multiprocessors;
}

cudaError_t EnqueueMmaRate(MmaShape shape, int multiprocessors, float* sink, cudaStream_t stream) {
  if (shape == MmaShape::kFp16) {
    MmaRateKernel<MmaShape::kFp16><<<multiprocessors, kThreads, 0, stream>>>(sink);
  } else {
    MmaRateKernel<MmaShape::kTf32><<<multiprocessors, kThreads, 0, stream>>>(sink);
  }
  return cudaGetLastError();
}

}  // namespace vixen::bench
