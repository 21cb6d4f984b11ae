// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_mma_tiled.h"

#include <algorithm>

#include "kernels/collect/cuda_mma_layout.h"
#include "kernels/collect/cuda_split_tiled.h"
#include "kernels/cuda/kernel_log.h"

// Builds for cards with wgmma hold this code as well, so that it can be forced there.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define VIXEN_HAS_MMA 1
#include "kernels/collect/cuda_finished_rows.cuh"
#include "kernels/collect/cuda_mma_tile.cuh"
#else
#define VIXEN_HAS_MMA 0
#endif

namespace vixen::kernels {
namespace {

using tile::Operand;

#if VIXEN_HAS_MMA

// sm_86 and sm_89 have 100 KB an SM, of which each block takes 1 KB for itself.
constexpr size_t kMostShared = 100 * 1024 / kMmaBlocks - 1024;

struct SequenceMemory {
  MmaMemory network;
  tile::NetworkConstants constants;
  SlotMemory<tile::kMmaRows> slots;
};
static_assert(sizeof(SequenceMemory) <= kMostShared);

struct BatchMemory {
  MmaMemory network;
  tile::NetworkConstants constants[2];  // target, online
  tile::CuriosityConstants curiosity;
  FinishMemory<tile::kMmaRows> rows;
};
static_assert(sizeof(BatchMemory) <= kMostShared);

// Grid: persistent; a block takes tiles of 64 slots and runs each to its last step.
template <Operand kOperand>
__global__ void __launch_bounds__(kMmaThreads, kMmaBlocks)
    MmaSequenceKernel(const __grid_constant__ LaunchArguments launch, const TileNetwork network,
                      const float state_scale) {
  extern __shared__ __align__(16) std::byte memory[];
  auto& shared = *reinterpret_cast<SequenceMemory*>(memory);
  LoadConstants(network.constants, shared.constants);
  FillMask(shared.slots.mask, launch.allowed);
  MmaStream stream(MmaStream::Of(network.image));
  __syncthreads();
  const uint32_t tiles = (launch.episodes + tile::kMmaRows - 1) / tile::kMmaRows;
  for (uint32_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    RunSlots<kOperand>(launch, shared.slots, state_scale, t * tile::kMmaRows,
                       [&](const StateFragment<kOperand>& state) {
                         return MmaNetworkPass<kOperand>(shared.network, stream, shared.constants,
                                                         network.image,
                                                         MmaStream::Of(network.image), state);
                       });
  }
}

// Grid: persistent; a block takes 64 rows at a time.
template <Operand kOperand>
__global__ void __launch_bounds__(kMmaThreads, kMmaBlocks)
    MmaBatchKernel(const __grid_constant__ LaunchArguments launch, const TilePolicy policy) {
  extern __shared__ __align__(16) std::byte memory[];
  auto& shared = *reinterpret_cast<BatchMemory*>(memory);
  const bool curious = policy.curiosity.image != nullptr;
  const bool is_double = launch.rules.settings.double_dqn;
  LoadConstants(policy.target.constants, shared.constants[0]);
  LoadConstants(policy.online.constants, shared.constants[1]);
  if (curious) LoadConstants(policy.curiosity.constants, shared.curiosity);
  FillMask(shared.rows.mask, launch.allowed);
  // A tile's passes: the online network where double DQN asks for it, the target network.
  const std::byte* const first_pass = is_double ? policy.online.image : policy.target.image;
  MmaStream stream(MmaStream::Of(first_pass));
  __syncthreads();
  const uint64_t rows = static_cast<uint64_t>(launch.episodes) * launch.steps;
  const uint64_t tiles = (rows + tile::kMmaRows - 1) / tile::kMmaRows;
  RowBars next = BarsFrom(launch, static_cast<uint64_t>(blockIdx.x) * tile::kMmaRows);
  for (uint64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    FinishTile<kOperand>(
        launch, shared.rows, policy.state_scale, t * tile::kMmaRows,
        (t + gridDim.x) * tile::kMmaRows, next, curious,
        [&](const StateFragment<kOperand>& state, const int(&category)[2], float(&out)[16]) {
          MmaCuriosityPass<kOperand>(policy.curiosity.image, shared.curiosity, state, category,
                                     out);
          return &shared.curiosity;
        },
        [&](int network, const StateFragment<kOperand>& state) {
          const std::byte* image = network == 1 ? policy.online.image : policy.target.image;
          const std::byte* then = network == 1 ? policy.target.image : first_pass;
          return MmaNetworkPass<kOperand>(shared.network, stream, shared.constants[network], image,
                                          MmaStream::Of(then), state);
        },
        [] { WaitCopies(); });
  }
}

#else

// The device code of other targets: never launched there (MmaTiledRuns).
constexpr int kMmaThreads = 32 * tile::kMmaWarps;
constexpr int kMmaBlocks = 2;
struct SequenceMemory {};
struct BatchMemory {};
template <Operand kOperand>
__global__ void MmaSequenceKernel(const __grid_constant__ LaunchArguments, const TileNetwork,
                                  const float) {}
template <Operand kOperand>
__global__ void MmaBatchKernel(const __grid_constant__ LaunchArguments, const TilePolicy) {}

#endif

uint32_t BlocksOf(int multiprocessors) {
  return static_cast<uint32_t>(kMmaBlocks * multiprocessors);
}

template <Operand kOperand>
cudaError_t EnqueueSequence(const LaunchArguments& launch, const TilePolicy& policy,
                            int multiprocessors, cudaStream_t stream) {
  constexpr int kBytes = sizeof(SequenceMemory);
  const auto kernel = MmaSequenceKernel<kOperand>;
  const cudaError_t error = AllowSharedBlocks("tiled_mma sequence", kernel, kBytes);
  if (error != cudaSuccess) return error;
  const uint32_t grid =
      std::min((launch.episodes + tile::kMmaRows - 1) / tile::kMmaRows, BlocksOf(multiprocessors));
  kernel<<<grid, kMmaThreads, kBytes, stream>>>(launch, policy.online, policy.state_scale);
  return cudaGetLastError();
}

template <Operand kOperand>
cudaError_t EnqueueBatch(const LaunchArguments& launch, const TilePolicy& policy,
                         int multiprocessors, cudaStream_t stream) {
  constexpr int kBytes = sizeof(BatchMemory);
  const auto kernel = MmaBatchKernel<kOperand>;
  const cudaError_t error = AllowSharedBlocks("tiled_mma batch", kernel, kBytes);
  if (error != cudaSuccess) return error;
  const uint64_t tiles =
      (static_cast<uint64_t>(launch.episodes) * launch.steps + tile::kMmaRows - 1) / tile::kMmaRows;
  const auto grid = static_cast<unsigned>(std::min<uint64_t>(tiles, BlocksOf(multiprocessors)));
  kernel<<<grid, kMmaThreads, kBytes, stream>>>(launch, policy);
  return cudaGetLastError();
}

}  // namespace

bool MmaTiledRuns(int capability) { return capability >= 80 && capability <= 90; }

cudaError_t EnqueueMmaSequence(const LaunchArguments& launch, const TilePolicy& policy,
                               int multiprocessors, cudaStream_t stream) {
  switch (policy.operand) {
    case Operand::kFp16:
      return EnqueueSequence<Operand::kFp16>(launch, policy, multiprocessors, stream);
    case Operand::kTf32:
      return EnqueueSequence<Operand::kTf32>(launch, policy, multiprocessors, stream);
    case Operand::kSplit:
      return EnqueueSplitSequence(launch, policy, multiprocessors, stream);
  }
  return cudaErrorInvalidValue;
}

cudaError_t EnqueueMmaBatch(const LaunchArguments& launch, const TilePolicy& policy,
                            int multiprocessors, cudaStream_t stream) {
  switch (policy.operand) {
    case Operand::kFp16:
      return EnqueueBatch<Operand::kFp16>(launch, policy, multiprocessors, stream);
    case Operand::kTf32:
      return EnqueueBatch<Operand::kTf32>(launch, policy, multiprocessors, stream);
    case Operand::kSplit:
      return EnqueueSplitBatch(launch, policy, multiprocessors, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace vixen::kernels
