// SPDX-License-Identifier: Apache-2.0
// What compute-sanitizer's racecheck makes of two roles that __syncthreads keeps apart, beside
// barriers that only one role passes, and of roles that barriers in shared memory keep apart
// (docs/gpu-validation.md). Usage, for CASE 0 … 5 (4 and 5 from sm_80 on):
//   compute-sanitizer --tool racecheck racecheck_barriers CASE
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

// What the reading warps pass between two steps besides the block's barriers.
enum class Between { kNothing = 0, kBlockBarriers = 1, kCountedBarriers = 2, kPlantedRace = 3 };

constexpr int kReaders = 256;
constexpr int kWriters = 128;
constexpr int kSteps = 32;
constexpr int kBarriers = 3;

template <Between kBetween>
__global__ void __launch_bounds__(kReaders + kWriters) Roles(const float* in, float* out) {
  __shared__ float4 state[4 * kWriters];
  float sum = 0.0f;
  const auto pass_more = [] {
    if (kBetween == Between::kBlockBarriers) __syncthreads();
  };
  for (int step = 0; step < kSteps; ++step) {
    if (threadIdx.x < kReaders) {
      for (int i = 0; i < kBarriers; ++i) {
        pass_more();
        if (kBetween == Between::kCountedBarriers) {
          asm volatile("barrier.sync 1, %0;" ::"n"(kReaders) : "memory");
        }
      }
      __syncthreads();  // the state is there
      for (int i = 0; i < 8; ++i) sum += state[64 * i + threadIdx.x % 64].x;
    } else {
      const int thread = threadIdx.x - kReaders;
      const float value = in[(step * kWriters + thread) % 4096];
      for (int i = 0; i < 4; ++i) {
        state[kWriters * i + thread] = make_float4(value, value, value, value);
      }
      for (int i = 0; i < kBarriers; ++i) pass_more();
      __syncthreads();
    }
    if (kBetween != Between::kPlantedRace) __syncthreads();  // and read
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__device__ void WaitFor([[maybe_unused]] uint64_t* barrier, [[maybe_unused]] uint32_t parity) {
#if __CUDA_ARCH__ >= 800
  uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(barrier))), "r"(parity)
        : "memory");
  }
#endif
}
// Of a warp.
__device__ void Tell([[maybe_unused]] uint64_t* barrier) {
  __syncwarp();
#if __CUDA_ARCH__ >= 800
  if (threadIdx.x % 32 != 0) return;
  asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(barrier)))
               : "memory");
#endif
}
__device__ void StartBarrier([[maybe_unused]] uint64_t* barrier, [[maybe_unused]] int warps) {
#if __CUDA_ARCH__ >= 800
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(barrier))),
               "r"(warps)
               : "memory");
#endif
}

// The same roles, kept apart by two barriers in shared memory alone.
template <bool kPlantedRace>
__global__ void __launch_bounds__(kReaders + kWriters) RolesByMemory(const float* in, float* out) {
  __shared__ float4 state[4 * kWriters];
  __shared__ uint64_t written, read;
  if (threadIdx.x == 0) {
    StartBarrier(&written, kWriters / 32);
    StartBarrier(&read, kReaders / 32);
  }
  __syncthreads();
  float sum = 0.0f;
  for (int step = 0; step < kSteps; ++step) {
    if (threadIdx.x < kReaders) {
      WaitFor(&written, step % 2);
      for (int i = 0; i < 8; ++i) sum += state[64 * i + threadIdx.x % 64].x;
      Tell(&read);
    } else {
      const int thread = threadIdx.x - kReaders;
      const float value = in[(step * kWriters + thread) % 4096];
      if (step > 0 && !kPlantedRace) WaitFor(&read, (step - 1) % 2);
      for (int i = 0; i < 4; ++i) {
        state[kWriters * i + thread] = make_float4(value, value, value, value);
      }
      if (step > 0 && kPlantedRace) WaitFor(&read, (step - 1) % 2);
      Tell(&written);
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kBlocks = 70;
  using Kernel = void (*)(const float*, float*);
  constexpr Kernel kKernels[] = {Roles<Between::kNothing>,
                                 Roles<Between::kBlockBarriers>,
                                 Roles<Between::kCountedBarriers>,
                                 Roles<Between::kPlantedRace>,
                                 RolesByMemory<false>,
                                 RolesByMemory<true>};
  const int which = argc == 2 ? std::atoi(argv[1]) : -1;
  if (which < 0 || which > 5) {
    std::fprintf(stderr, "usage: racecheck_barriers CASE, 0 … 5\n");
    return 2;
  }
  float* in = nullptr;
  float* out = nullptr;
  cudaMalloc(&in, 4096 * sizeof(float));
  cudaMalloc(&out, sizeof(float) * kBlocks * (kReaders + kWriters));
  cudaMemset(in, 0, 4096 * sizeof(float));
  kKernels[which]<<<kBlocks, kReaders + kWriters>>>(in, out);
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("case %d: %s\n", which, cudaGetErrorString(error));
  return error == cudaSuccess ? 0 : 1;
}
