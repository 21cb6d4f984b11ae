// SPDX-License-Identifier: Apache-2.0
// What the products of a stepped launch read: states, curiosity inputs, activations.
#include <cuda_fp16.h>

#include "kernels/collect/cuda_range.h"
#include "kernels/collect/cuda_stepped_kernels.h"
#include "kernels/collect/cuda_warp_grid.cuh"
#include "kernels/env/step.h"

namespace vixen::kernels {
namespace {

constexpr float kSlope = 0.01f;

template <typename T>
__device__ T Narrow(float value);
template <>
__device__ float Narrow<float>(float value) {
  return value;
}
template <>
__device__ __half Narrow<__half>(float value) {
  // A NaN goes through, so that it is seen in the reward.
  const float clamped = value != value ? value : fminf(fmaxf(value, -kLargestHalf), kLargestHalf);
  return __float2half_rn(clamped);
}

// One warp writes features ‖ portfolio, zeros up to `width`.
template <typename T>
__device__ void WriteState(const DeviceMarket& market, uint32_t bar, const float* portfolio,
                           uint32_t width, int lane, T* out) {
  const uint32_t features = market.view.feature_count;
  const float* row = market.features + static_cast<size_t>(bar) * market.stride;
  for (uint32_t j = lane; j < width; j += 32) {
    float value = 0.0f;
    if (j < features) {
      value = row[j];
    } else if (j < features + kPortfolioFeatures) {
      value = portfolio[j - features];
    }
    out[j] = Narrow<T>(value);
  }
}

template <typename T>
__global__ void SlotStatesKernel(const LaunchArguments* arguments, DeviceMarket market,
                                 uint32_t width, T* out) {
  const uint32_t n = WarpIndex();
  if (n >= arguments->episodes) return;
  const SlotState& slot = arguments->slots[n];
  const float price = market.view.targets[4 * static_cast<size_t>(slot.bar)];
  float portfolio[kPortfolioFeatures];
  ObservePortfolio(arguments->rules, slot, price, portfolio);
  WriteState(market, slot.bar, portfolio, width, threadIdx.x % 32,
             out + static_cast<size_t>(n) * width);
}

template <typename T>
__global__ void NextStatesKernel(const LaunchArguments* arguments, DeviceMarket market,
                                 const uint64_t* position, uint32_t rows, uint32_t width, T* out) {
  const uint32_t r = WarpIndex();
  const size_t row = position[1] + r;
  if (r >= rows || row >= static_cast<size_t>(arguments->episodes) * arguments->steps) return;
  WriteState(market, arguments->rows.bar[row] + 1,
             arguments->rows.next_portfolio + row * kPortfolioFeatures, width, threadIdx.x % 32,
             out + static_cast<size_t>(r) * width);
}

template <typename T>
__global__ void CuriosityInputsKernel(const LaunchArguments* arguments, DeviceMarket market,
                                      const uint64_t* position, uint32_t rows, uint32_t embedding,
                                      uint32_t width, T* out) {
  const uint32_t r = WarpIndex();
  const size_t row = position[1] + r;
  if (r >= rows || row >= static_cast<size_t>(arguments->episodes) * arguments->steps) return;
  const BatchView& view = arguments->rows;
  const uint32_t features = market.view.feature_count;
  const float* state = market.features + static_cast<size_t>(view.bar[row]) * market.stride;
  const uint32_t category = CategoryOf(view.action[row]);
  for (uint32_t j = threadIdx.x % 32; j < width; j += 32) {
    float value = 0.0f;
    if (j < embedding) {
      value = j < features ? state[j] : view.portfolio[row * kPortfolioFeatures + j - features];
    } else if (j == embedding + category) {
      value = 1.0f;
    }
    out[static_cast<size_t>(r) * width + j] = Narrow<T>(value);
  }
}

template <typename T>
__global__ void ActivationKernel(const LaunchArguments* arguments, const uint64_t* first_row,
                                 const float* product, const float* bias, uint64_t count,
                                 uint32_t width, T* out) {
  const uint64_t i = 4 * (static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const float4 in = *reinterpret_cast<const float4*>(product + i);
  const float4 b = *reinterpret_cast<const float4*>(bias + i % width);
  const float values[4] = {in.x + b.x, in.y + b.y, in.z + b.z, in.w + b.w};
  unsigned clamped = 0;
#pragma unroll
  for (int u = 0; u < 4; ++u) {
    const float value = values[u] > 0.0f ? values[u] : kSlope * values[u];
    if (sizeof(T) == sizeof(__half) && fabsf(value) > kLargestHalf) ++clamped;
    out[i + u] = Narrow<T>(value);
  }
  if (clamped == 0) return;
  const uint64_t rows = static_cast<uint64_t>(arguments->episodes) * arguments->steps;
  if (first_row != nullptr && *first_row + i / width >= rows) return;
  atomicAdd(arguments->clamped, clamped);
}

}  // namespace

cudaError_t EnqueueSlotStates(const LaunchArguments* arguments, const DeviceMarket& market,
                              uint32_t episodes, uint32_t width, bool half, void* out,
                              cudaStream_t stream) {
  if (half) {
    SlotStatesKernel<<<WarpGrid(episodes), kWarpThreads, 0, stream>>>(arguments, market, width,
                                                                      static_cast<__half*>(out));
  } else {
    SlotStatesKernel<<<WarpGrid(episodes), kWarpThreads, 0, stream>>>(arguments, market, width,
                                                                      static_cast<float*>(out));
  }
  return cudaGetLastError();
}

cudaError_t EnqueueNextStates(const LaunchArguments* arguments, const DeviceMarket& market,
                              const uint64_t* position, uint32_t rows, uint32_t width, bool half,
                              void* out, cudaStream_t stream) {
  if (half) {
    NextStatesKernel<<<WarpGrid(rows), kWarpThreads, 0, stream>>>(arguments, market, position, rows,
                                                                  width, static_cast<__half*>(out));
  } else {
    NextStatesKernel<<<WarpGrid(rows), kWarpThreads, 0, stream>>>(arguments, market, position, rows,
                                                                  width, static_cast<float*>(out));
  }
  return cudaGetLastError();
}

cudaError_t EnqueueCuriosityInputs(const LaunchArguments* arguments, const DeviceMarket& market,
                                   const uint64_t* position, uint32_t rows, uint32_t embedding,
                                   uint32_t width, bool half, void* out, cudaStream_t stream) {
  if (half) {
    CuriosityInputsKernel<<<WarpGrid(rows), kWarpThreads, 0, stream>>>(
        arguments, market, position, rows, embedding, width, static_cast<__half*>(out));
  } else {
    CuriosityInputsKernel<<<WarpGrid(rows), kWarpThreads, 0, stream>>>(
        arguments, market, position, rows, embedding, width, static_cast<float*>(out));
  }
  return cudaGetLastError();
}

cudaError_t EnqueueActivation(const LaunchArguments* arguments, const uint64_t* first_row,
                              const float* product, const float* bias, uint32_t rows,
                              uint32_t width, bool half, void* out, cudaStream_t stream) {
  const uint64_t count = static_cast<uint64_t>(rows) * width;
  const unsigned blocks = static_cast<unsigned>((count / 4 + 255) / 256);
  if (half) {
    ActivationKernel<<<blocks, 256, 0, stream>>>(arguments, first_row, product, bias, count, width,
                                                 static_cast<__half*>(out));
  } else {
    ActivationKernel<<<blocks, 256, 0, stream>>>(arguments, first_row, product, bias, count, width,
                                                 static_cast<float*>(out));
  }
  return cudaGetLastError();
}

}  // namespace vixen::kernels
