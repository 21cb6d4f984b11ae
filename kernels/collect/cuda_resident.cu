// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_resident.h"

#include "kernels/collect/cuda_resident_image.h"
#include "kernels/cuda/kernel_log.h"

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define VIXEN_RESIDENT 1
#include "kernels/collect/cuda_resident_helper.cuh"
#include "kernels/collect/cuda_resident_matrix.cuh"
#else
#define VIXEN_RESIDENT 0
#endif

namespace vixen::kernels {
namespace resident {

#if !VIXEN_RESIDENT
// Not in the unnamed namespace: kernels have one name for all targets, and these are their types.
template <tile::Operand, int kEpisodesOf, int>
struct Form {
  static constexpr int kEpisodes = kEpisodesOf;
};
template <typename F>
struct Shared {};
#endif

namespace {

using tile::Operand;

constexpr int kMostEpisodes = 8;  // of a block
constexpr int kThreads = 384;

#if VIXEN_RESIDENT

static_assert(kThreads == kResidentThreads && kMostEpisodes == kManyEpisodes);

template <typename F>
struct Shared {
  ResidentMemory<F> network;
  HelperMemory<F> rules;
};

__device__ void CopyFragment(const std::byte* image, size_t offset, int planes, uint4* to,
                             int lane) {
  const uint4* source = reinterpret_cast<const uint4*>(image + offset);
  for (int i = 0; i < planes; ++i) to[32 * i + lane] = source[32 * i + lane];
}

// The parts of the network that stay in shared memory; everything else becomes zero.
template <typename F>
__device__ void LoadNetwork(const std::byte* image, const float* biases, int rank,
                            ResidentMemory<F>& memory) {
  using Memory = ResidentMemory<F>;
  constexpr Operand kOperand = F::kOperand;
  constexpr size_t kBytes = FragmentBytes(kOperand);
  constexpr int kPlanes = Memory::kPlanes;
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  constexpr int kWarpCount = kThreads / 32;
  for (int i = warp; i < kWarps * 2 * kGroups0; i += kWarpCount) {
    CopyFragment(image, i * kBytes, kPlanes, &memory.layer0[0][0][0][0] + 32 * kPlanes * i, lane);
  }
  if constexpr (Memory::kShared2 > 0) {
    for (int i = warp; i < kWarps * Memory::kShared2; i += kWarpCount) {
      const int group = i % Memory::kShared2 + F::kRegisterGroups2;
      CopyFragment(image, Fragment2(rank, i / Memory::kShared2, group) * kBytes, kPlanes,
                   &memory.layer2[0][0][0][0] + 32 * kPlanes * i, lane);
    }
  }
  for (int i = warp; i < kBlocks3 * kGroups3; i += kWarpCount) {
    CopyFragment(image, (Fragment3(rank, 0, 0) + i) * kBytes, kPlanes,
                 &memory.layer3[0][0][0][0] + 32 * kPlanes * i, lane);
  }
  LoadCommon(image, kOperand, biases, memory);
  for (int i = threadIdx.x; i < 128; i += kThreads) {
    memory.bias1[i] = biases[kLayer1Bias + 128 * rank + i];
    memory.bias2[i] = biases[kStreamBias + StreamRow(rank, i)];
  }
  if (threadIdx.x == 0) {
    for (int which = 0; which < 3; ++which) memory.arrived(which).Start();
    FenceBarrierStart();
    for (int which = 0; which < 3; ++which) {
      memory.arrived(which).Expect(ArrivingBytes<F>(which));
    }
  }
}

// Grid: an even number of blocks in clusters of two; a block has `per_block` slots, the last blocks
// fewer or none. Warps 0 … 7 multiply, the others help.
template <typename F>
__global__ void __launch_bounds__(kThreads, 1)
    ResidentKernel(const __grid_constant__ LaunchArguments launch, const std::byte* image,
                   const float* biases, const uint32_t per_block) {
  extern __shared__ __align__(1024) std::byte dynamic[];
  const uint32_t base = Kept(SharedAddress(dynamic));
  auto& shared = *static_cast<Shared<F>*>(__cvta_shared_to_generic(base));
  auto& memory = shared.network;
  const uint32_t thread = Kept(threadIdx.x);
  const int lane = thread % 32;
  const int warp = __shfl_sync(kAllLanes, thread / 32, 0);
  const uint32_t rank = Kept(ClusterRank());
  const uint32_t first_slot = blockIdx.x * per_block;
  const int episodes =
      first_slot < launch.episodes ? min(per_block, launch.episodes - first_slot) : 0;
  LoadNetwork(image, biases, rank, memory);
  __syncthreads();
  if (warp < kWarps) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kMatrixRegisters));
    const uint32_t to_other = Kept(InBlock(base, rank ^ 1) - base);
    MatrixWarp<F> matrix(memory, image, rank, to_other, warp, lane);
    SyncBlock();    // the first state is there
    SyncCluster();  // and the other block
    matrix.Run(launch.steps);
  } else {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kHelperRegisters));
    RunHelper(launch, memory, shared.rules, first_slot, episodes, warp - kWarps, lane, [] {
      SyncBlock();
      SyncCluster();
      SyncBlock();
    });
  }
  SyncCluster();  // the other block may still write here
}

#else

// The device code of other targets: never launched there (ResidentBlocks).
template <typename F>
__global__ void ResidentKernel(const __grid_constant__ LaunchArguments, const std::byte*,
                               const float*, const uint32_t) {}

#endif

struct ClusterLaunch {
  cudaLaunchAttribute attribute = {};
  cudaLaunchConfig_t config = {};

  ClusterLaunch(uint32_t blocks, size_t bytes, cudaStream_t stream) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 2;
    attribute.val.clusterDim.y = 1;
    attribute.val.clusterDim.z = 1;
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(kThreads);
    config.dynamicSmemBytes = bytes;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
};

template <typename F>
cudaError_t Enqueue(const LaunchArguments& launch, const std::byte* image, const float* biases,
                    uint32_t per_block, cudaStream_t stream) {
  constexpr int kBytes = sizeof(Shared<F>);
  static_assert(kBytes <= 232'448);
  const auto kernel = ResidentKernel<F>;
  const cudaError_t error = AllowSharedMemory("resident sequence", kernel, kBytes);
  if (error != cudaSuccess) return error;
  const uint32_t blocks = (launch.episodes + per_block - 1) / per_block;
  const ClusterLaunch cluster(blocks + blocks % 2, kBytes, stream);
  return cudaLaunchKernelEx(&cluster.config, kernel, launch, image, biases, per_block);
}

template <Operand kOperand>
uint32_t BlocksOf() {
  using F = Form<kOperand, kMostEpisodes, 1>;
  constexpr int kBytes = sizeof(Shared<F>);
  const auto kernel = ResidentKernel<F>;
  const ClusterLaunch cluster(2, kBytes, nullptr);
  int clusters = 0;
  if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes) !=
          cudaSuccess ||
      cudaOccupancyMaxActiveClusters(&clusters, kernel, &cluster.config) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return 2 * static_cast<uint32_t>(clusters);
}

// One episode a block leaves six of a product's eight columns free: two of them take the low halves
// of the activations, which makes split products two instead of three, and tf32 one of fp16 whose
// weights have tf32's 11 significant bits and whose activations have 22.
template <Operand kOperand>
cudaError_t EnqueueFor(const LaunchArguments& launch, const std::byte* image, const float* biases,
                       uint32_t blocks, cudaStream_t stream) {
  const uint32_t per_block = (launch.episodes + blocks - 1) / blocks;
  if (per_block > 1) {
    return Enqueue<Form<kOperand, kMostEpisodes, 1>>(launch, image, biases, per_block, stream);
  }
  if constexpr (kOperand == Operand::kFp16) {
    return Enqueue<Form<kOperand, 1, 1>>(launch, image, biases, 1, stream);
  } else if constexpr (kOperand == Operand::kTf32) {
    return Enqueue<Form<Operand::kFp16, 1, 2>>(launch, image + HalvesOffset(kOperand), biases, 1,
                                               stream);
  } else {
    return Enqueue<Form<kOperand, 1, 2>>(launch, image, biases, 1, stream);
  }
}

}  // namespace
}  // namespace resident

using tile::Operand;

uint32_t ResidentBlocks(int capability, Operand operand) {
  if (capability != 90) return 0;
  switch (operand) {
    case Operand::kFp16:
      return resident::BlocksOf<Operand::kFp16>();
    case Operand::kTf32:
      return resident::BlocksOf<Operand::kTf32>();
    case Operand::kSplit:
      return resident::BlocksOf<Operand::kSplit>();
  }
  return 0;
}

uint32_t ResidentEpisodes(uint32_t blocks) { return resident::kMostEpisodes * blocks; }

cudaError_t EnqueueResidentSequence(const LaunchArguments& launch, Operand operand,
                                    const std::byte* image, const float* biases, uint32_t blocks,
                                    cudaStream_t stream) {
  switch (operand) {
    case Operand::kFp16:
      return resident::EnqueueFor<Operand::kFp16>(launch, image, biases, blocks, stream);
    case Operand::kTf32:
      return resident::EnqueueFor<Operand::kTf32>(launch, image, biases, blocks, stream);
    case Operand::kSplit:
      return resident::EnqueueFor<Operand::kSplit>(launch, image, biases, blocks, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace vixen::kernels
