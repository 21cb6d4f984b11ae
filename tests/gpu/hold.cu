// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <cstdint>

#include "tests/gpu/hold.h"

namespace vixen::learner {
namespace {

__global__ void Hold(const volatile uint32_t* released) {
  while (*released == 0) {
  }
}

}  // namespace

bool HoldTheDevice(int gpu) {
  constexpr int kThreads = 512;  // divides what every card has of an SM
  cudaDeviceProp properties;
  uint32_t* released = nullptr;  // in host memory, and never set
  cudaStream_t stream = nullptr;
  if (cudaSetDevice(gpu) != cudaSuccess ||
      cudaGetDeviceProperties(&properties, gpu) != cudaSuccess ||
      cudaMallocHost(&released, sizeof(*released)) != cudaSuccess ||
      cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) {
    return false;
  }
  *released = 0;
  const int blocks =
      properties.multiProcessorCount * (properties.maxThreadsPerMultiProcessor / kThreads);
  Hold<<<blocks, kThreads, 0, stream>>>(released);
  return cudaGetLastError() == cudaSuccess;
}

}  // namespace vixen::learner
