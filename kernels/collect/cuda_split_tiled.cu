// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_split_tiled.h"

#include <algorithm>

#include "kernels/cuda/kernel_log.h"

// Builds for cards with wgmma hold this code as well, so that it can be forced there.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define VIXEN_HAS_MMA 1
#include "kernels/collect/cuda_finished_rows.cuh"
#include "kernels/collect/cuda_split_tile.cuh"
#else
#define VIXEN_HAS_MMA 0
#endif

namespace vixen::kernels {
namespace {

using tile::Operand;

#if VIXEN_HAS_MMA

// sm_86 and sm_89 have 100 KB an SM, of which each block takes 1 KB for itself.
constexpr size_t kMostShared = 100 * 1024 / kSplitBlocks - 1024;

struct SequenceMemory {
  SplitMemory stream;
  tile::NetworkConstants constants;
  SlotMemory<kSplitRows> slots;
};
static_assert(sizeof(SequenceMemory) <= kMostShared);

struct BatchMemory {
  SplitMemory stream;
  tile::NetworkConstants constants[2];  // target, online
  tile::CuriosityConstants curiosity;
  FinishMemory<kSplitRows> rows;
};
static_assert(sizeof(BatchMemory) <= kMostShared);

// Grid: persistent; a block takes tiles of 64 slots and runs each to its last step.
__global__ void __launch_bounds__(kSplitThreads, kSplitBlocks)
    SplitSequenceKernel(const __grid_constant__ LaunchArguments launch, const TileNetwork network,
                        const float state_scale) {
  extern __shared__ __align__(128) std::byte memory[];
  auto& shared = *reinterpret_cast<SequenceMemory*>(memory);
  LoadConstants(network.constants, shared.constants);
  FillMask(shared.slots.mask, launch.allowed);
  if (threadIdx.x == 0) {
    int count = 0;
    PlanNetwork(shared.stream.plan, count, network.image);
  }
  __syncthreads();
  SplitStream stream{&shared.stream, tile::kSplitNetworkStages};
  stream.Start();
  const uint32_t tiles = (launch.episodes + kSplitRows - 1) / kSplitRows;
  for (uint32_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    RunSlots<Operand::kSplit>(launch, shared.slots, state_scale, t * kSplitRows,
                              [&](const StateFragment<Operand::kSplit>& state) {
                                return SplitNetworkPass(stream, shared.constants, state);
                              });
  }
  WaitCopies();
}

// Grid: persistent; a block takes 64 rows at a time.
__global__ void __launch_bounds__(kSplitThreads, kSplitBlocks)
    SplitBatchKernel(const __grid_constant__ LaunchArguments launch, const TilePolicy policy) {
  extern __shared__ __align__(128) std::byte memory[];
  auto& shared = *reinterpret_cast<BatchMemory*>(memory);
  const bool curious = policy.curiosity.image != nullptr;
  const bool is_double = launch.rules.settings.double_dqn;
  LoadConstants(policy.target.constants, shared.constants[0]);
  LoadConstants(policy.online.constants, shared.constants[1]);
  if (curious) LoadConstants(policy.curiosity.constants, shared.curiosity);
  FillMask(shared.rows.mask, launch.allowed);
  const int stages = (curious ? 3 : 0) + (is_double ? 2 : 1) * tile::kSplitNetworkStages;
  if (threadIdx.x == 0) {
    int count = 0;
    if (curious) PlanCuriosity(shared.stream.plan, count, policy.curiosity.image);
    if (is_double) PlanNetwork(shared.stream.plan, count, policy.online.image);
    PlanNetwork(shared.stream.plan, count, policy.target.image);
  }
  __syncthreads();
  SplitStream stream{&shared.stream, stages};
  stream.Start();
  const uint64_t rows = static_cast<uint64_t>(launch.episodes) * launch.steps;
  const uint64_t tiles = (rows + kSplitRows - 1) / kSplitRows;
  RowBars next = BarsFrom(launch, static_cast<uint64_t>(blockIdx.x) * kSplitRows);
  for (uint64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    FinishTile<Operand::kSplit>(
        launch, shared.rows, policy.state_scale, t * kSplitRows, (t + gridDim.x) * kSplitRows, next,
        curious,
        [&](const StateFragment<Operand::kSplit>& state, const int(&category)[2], float(&out)[16]) {
          SplitCuriosityPass(stream, shared.curiosity, state, category, out);
          return &shared.curiosity;
        },
        [&](int network, const StateFragment<Operand::kSplit>& state) {
          return SplitNetworkPass(stream, shared.constants[network], state);
        },
        // The pass waits for all but its own newest stage.
        [] {});
  }
  WaitCopies();
}

#else

// The device code of other targets: never launched there (MmaTiledRuns).
struct SequenceMemory {};
struct BatchMemory {};
constexpr int kSplitRows = 64;
constexpr int kSplitThreads = 128;
constexpr int kSplitBlocks = 2;
__global__ void SplitSequenceKernel(const __grid_constant__ LaunchArguments, const TileNetwork,
                                    const float) {}
__global__ void SplitBatchKernel(const __grid_constant__ LaunchArguments, const TilePolicy) {}

#endif

}  // namespace

cudaError_t EnqueueSplitSequence(const LaunchArguments& launch, const TilePolicy& policy,
                                 int multiprocessors, cudaStream_t stream) {
  constexpr int kBytes = sizeof(SequenceMemory);
  const auto kernel = SplitSequenceKernel;
  const cudaError_t error = AllowSharedBlocks("tiled_mma split sequence", kernel, kBytes);
  if (error != cudaSuccess) return error;
  const uint32_t grid = std::min((launch.episodes + kSplitRows - 1) / kSplitRows,
                                 static_cast<uint32_t>(kSplitBlocks * multiprocessors));
  kernel<<<grid, kSplitThreads, kBytes, stream>>>(launch, policy.online, policy.state_scale);
  return cudaGetLastError();
}

cudaError_t EnqueueSplitBatch(const LaunchArguments& launch, const TilePolicy& policy,
                              int multiprocessors, cudaStream_t stream) {
  constexpr int kBytes = sizeof(BatchMemory);
  const auto kernel = SplitBatchKernel;
  const cudaError_t error = AllowSharedBlocks("tiled_mma split batch", kernel, kBytes);
  if (error != cudaSuccess) return error;
  const uint64_t tiles =
      (static_cast<uint64_t>(launch.episodes) * launch.steps + kSplitRows - 1) / kSplitRows;
  const auto grid = static_cast<unsigned>(
      std::min<uint64_t>(tiles, static_cast<uint64_t>(kSplitBlocks) * multiprocessors));
  kernel<<<grid, kSplitThreads, kBytes, stream>>>(launch, policy);
  return cudaGetLastError();
}

}  // namespace vixen::kernels
