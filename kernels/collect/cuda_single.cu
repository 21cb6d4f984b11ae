// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_single.h"

#include <algorithm>

#include "kernels/collect/cuda_resident_image.h"
#include "kernels/cuda/kernel_log.h"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define VIXEN_SINGLE 1
#include "kernels/collect/cuda_resident_helper.cuh"
#include "kernels/collect/cuda_single_matrix.cuh"
#else
#define VIXEN_SINGLE 0
#endif

namespace vixen::kernels {
namespace resident {

#if !VIXEN_SINGLE
// Not in the unnamed namespace: kernels have one name for all targets, and these are their types.
template <tile::Operand, int, int>
struct Form {};
#endif

template <typename F>
struct SingleShared;

namespace {

using tile::Operand;

constexpr uint32_t kMostOfABlock = 8;  // episodes
constexpr int kSingleThreads = 384;

}  // namespace

#if VIXEN_SINGLE

template <typename F>
struct SingleShared {
  SingleMemory<F> network;
  HelperMemory<F> rules;
};

namespace {

static_assert(kSingleThreads == kResidentThreads && kMostOfABlock == kManyEpisodes);

// The parts of the network that stay in shared memory; everything else becomes zero.
template <typename F>
__device__ void LoadSingle(const std::byte* image, const float* biases, SingleMemory<F>& memory) {
  const uint4* fragments = reinterpret_cast<const uint4*>(image);
  const int lane = threadIdx.x % 32;
  for (int i = threadIdx.x / 32; i < kWarps * kCluster * kInShared; i += kSingleThreads / 32) {
    const int warp = i / (kCluster * kInShared);
    const int rank = i / kInShared % kCluster;
    const int group = kFirstShared + i % kInShared;
    memory.layer1[warp][rank][i % kInShared][lane] =
        fragments[32 * Fragment1(rank, warp, group) + lane];
    memory.layer2[warp][rank][i % kInShared][lane] =
        fragments[32 * Fragment2(rank, warp, group) + lane];
  }
  LoadCommon(image, F::kOperand, biases, memory);
  for (int i = threadIdx.x; i < tile::kHidden; i += kSingleThreads) {
    memory.bias1[i] = biases[kLayer1Bias + i];
    memory.bias2[i] = biases[kStreamBias + StreamRow(i / 128, i % 128)];
  }
}

// Grid: a block has `per_block` slots, the last one fewer. Warps 0 … 7 multiply, the others help.
template <typename F>
__global__ void __launch_bounds__(kSingleThreads, 1)
    SingleKernel(const __grid_constant__ LaunchArguments launch, const std::byte* image,
                 const float* biases, const uint32_t per_block) {
  extern __shared__ __align__(16) std::byte dynamic[];
  auto& shared = *reinterpret_cast<SingleShared<F>*>(dynamic);
  auto& memory = shared.network;
  const int lane = threadIdx.x % 32;
  const int warp = __shfl_sync(kAllLanes, threadIdx.x / 32, 0);
  const uint32_t first_slot = blockIdx.x * per_block;
  const int episodes = min(per_block, launch.episodes - first_slot);
  LoadSingle(image, biases, memory);
  __syncthreads();
  if (warp < kWarps) {
    SingleMatrixWarp<F> matrix(memory, image, warp, lane);
    SyncBlock();  // the first state is there
    matrix.Run(launch.steps);
  } else {
    RunHelper(launch, memory, shared.rules, first_slot, episodes, warp - kWarps, lane, [] {
      SyncBlock();
      SyncBlock();
    });
  }
}

}  // namespace

#else

// The device code of other targets: never launched there (SingleEpisodes).
template <typename F>
struct SingleShared {};
namespace {
template <typename F>
__global__ void SingleKernel(const __grid_constant__ LaunchArguments, const std::byte*,
                             const float*, const uint32_t) {}
}  // namespace

#endif

namespace {

template <typename F>
cudaError_t Enqueue(const LaunchArguments& launch, const std::byte* image, const float* biases,
                    uint32_t per_block, cudaStream_t stream) {
  constexpr int kBytes = sizeof(SingleShared<F>);
  static_assert(kBytes <= 99 * 1024);  // of sm_86 and sm_89
  const auto kernel = SingleKernel<F>;
  const cudaError_t error = AllowSharedMemory("resident_single sequence", kernel, kBytes);
  if (error != cudaSuccess) return error;
  const uint32_t blocks = (launch.episodes + per_block - 1) / per_block;
  kernel<<<blocks, kSingleThreads, kBytes, stream>>>(launch, image, biases, per_block);
  return cudaGetLastError();
}

}  // namespace
}  // namespace resident

using tile::Operand;

uint32_t SingleEpisodes(int capability, Operand operand, int multiprocessors) {
  if (capability < 80 || capability > 90 || operand == Operand::kSplit) return 0;
  const auto blocks = static_cast<uint32_t>(multiprocessors);
  return operand == Operand::kFp16 ? resident::kMostOfABlock * blocks : blocks;
}

cudaError_t EnqueueSingleSequence(const LaunchArguments& launch, Operand operand,
                                  const std::byte* image, const float* biases, int multiprocessors,
                                  cudaStream_t stream) {
  using resident::Enqueue;
  using resident::Form;
  const auto blocks = static_cast<uint32_t>(multiprocessors);
  const uint32_t per_block = (launch.episodes + blocks - 1) / blocks;
  if (operand == Operand::kTf32) {
    return Enqueue<Form<Operand::kFp16, 1, 2>>(launch, image + resident::HalvesOffset(operand),
                                               biases, 1, stream);
  }
  if (per_block == 1) {
    return Enqueue<Form<Operand::kFp16, 1, 1>>(launch, image, biases, 1, stream);
  }
  return Enqueue<Form<Operand::kFp16, resident::kMostOfABlock, 1>>(launch, image, biases, per_block,
                                                                   stream);
}

}  // namespace vixen::kernels
