// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_mma_tiled.h"

#include <algorithm>

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
  MmaMemory stream;
  tile::NetworkConstants constants;
  SlotMemory<kMmaRows> slots;
};
static_assert(sizeof(SequenceMemory) <= kMostShared);

struct BatchMemory {
  MmaMemory stream;
  tile::NetworkConstants constants[2];  // target, online
  tile::CuriosityConstants curiosity;
  FinishMemory<kMmaRows> rows;
};
static_assert(sizeof(BatchMemory) <= kMostShared);

// Grid: persistent; a block takes tiles of 64 slots and runs each to its last step.
template <Operand kOperand>
__global__ void __launch_bounds__(kMmaThreads, kMmaBlocks)
    MmaSequenceKernel(const __grid_constant__ LaunchArguments launch, const TileNetwork network,
                      const float state_scale) {
  extern __shared__ __align__(128) std::byte memory[];
  auto& shared = *reinterpret_cast<SequenceMemory*>(memory);
  LoadConstants(network.constants, shared.constants);
  FillMask(shared.slots.mask, launch.allowed);
  if (threadIdx.x == 0) {
    int count = 0;
    PlanNetwork<kOperand>(shared.stream.plan, count, network.image);
  }
  __syncthreads();
  MmaStream stream{&shared.stream, NetworkStages<kOperand>()};
  stream.Start();
  const uint32_t tiles = (launch.episodes + kMmaRows - 1) / kMmaRows;
  for (uint32_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    RunSlots<kOperand>(launch, shared.slots, state_scale, t * kMmaRows,
                       [&](const StateFragment<kOperand>& state) {
                         return MmaNetworkPass<kOperand>(stream, shared.constants, state);
                       });
  }
  WaitCopies();
}

// Grid: persistent; a block takes 64 rows at a time.
template <Operand kOperand>
__global__ void __launch_bounds__(kMmaThreads, kMmaBlocks)
    MmaBatchKernel(const __grid_constant__ LaunchArguments launch, const TilePolicy policy) {
  extern __shared__ __align__(128) std::byte memory[];
  auto& shared = *reinterpret_cast<BatchMemory*>(memory);
  const bool curious = policy.curiosity.image != nullptr;
  const bool is_double = launch.rules.settings.double_dqn;
  LoadConstants(policy.target.constants, shared.constants[0]);
  LoadConstants(policy.online.constants, shared.constants[1]);
  if (curious) LoadConstants(policy.curiosity.constants, shared.curiosity);
  FillMask(shared.rows.mask, launch.allowed);
  const int stages =
      (curious ? CuriosityStages<kOperand>() : 0) + (is_double ? 2 : 1) * NetworkStages<kOperand>();
  if (threadIdx.x == 0) {
    int count = 0;
    if (curious) PlanCuriosity<kOperand>(shared.stream.plan, count, policy.curiosity.image);
    if (is_double) PlanNetwork<kOperand>(shared.stream.plan, count, policy.online.image);
    PlanNetwork<kOperand>(shared.stream.plan, count, policy.target.image);
  }
  __syncthreads();
  MmaStream stream{&shared.stream, stages};
  stream.Start();
  const uint64_t rows = static_cast<uint64_t>(launch.episodes) * launch.steps;
  const uint64_t tiles = (rows + kMmaRows - 1) / kMmaRows;
  RowBars next = BarsFrom(launch, static_cast<uint64_t>(blockIdx.x) * kMmaRows);
  for (uint64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    FinishTile<kOperand>(
        launch, shared.rows, policy.state_scale, t * kMmaRows, (t + gridDim.x) * kMmaRows, next,
        curious,
        [&](const StateFragment<kOperand>& state, const int(&category)[2], float(&out)[16]) {
          MmaCuriosityPass<kOperand>(stream, shared.curiosity, state, category, out);
          return &shared.curiosity;
        },
        [&](int network, const StateFragment<kOperand>& state) {
          return MmaNetworkPass<kOperand>(stream, shared.constants[network], state);
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
constexpr int kMmaRows = 64;
constexpr int kMmaThreads = 128;
constexpr int kMmaBlocks = 2;
template <Operand kOperand>
__global__ void MmaSequenceKernel(const __grid_constant__ LaunchArguments, const TileNetwork,
                                  const float) {}
template <Operand kOperand>
__global__ void MmaBatchKernel(const __grid_constant__ LaunchArguments, const TilePolicy) {}

#endif

template <typename Kernel>
cudaError_t AllowTwoBlocks(const char* name, Kernel* kernel, int bytes) {
  const cudaError_t error = cudaFuncSetAttribute(
      kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
  return error != cudaSuccess ? error : AllowSharedMemory(name, kernel, bytes);
}

template <Operand kOperand>
cudaError_t EnqueueSequence(const LaunchArguments& launch, const TilePolicy& policy,
                            uint32_t blocks, cudaStream_t stream) {
  constexpr int kBytes = sizeof(SequenceMemory);
  const auto kernel = MmaSequenceKernel<kOperand>;
  const cudaError_t error = AllowTwoBlocks("tiled_mma sequence", kernel, kBytes);
  if (error != cudaSuccess) return error;
  const uint32_t grid = std::min((launch.episodes + kMmaRows - 1) / kMmaRows, blocks);
  kernel<<<grid, kMmaThreads, kBytes, stream>>>(launch, policy.online, policy.state_scale);
  return cudaGetLastError();
}

template <Operand kOperand>
cudaError_t EnqueueBatch(const LaunchArguments& launch, const TilePolicy& policy, uint32_t blocks,
                         cudaStream_t stream) {
  constexpr int kBytes = sizeof(BatchMemory);
  const auto kernel = MmaBatchKernel<kOperand>;
  const cudaError_t error = AllowTwoBlocks("tiled_mma batch", kernel, kBytes);
  if (error != cudaSuccess) return error;
  const uint64_t tiles =
      (static_cast<uint64_t>(launch.episodes) * launch.steps + kMmaRows - 1) / kMmaRows;
  const auto grid = static_cast<unsigned>(std::min<uint64_t>(tiles, blocks));
  kernel<<<grid, kMmaThreads, kBytes, stream>>>(launch, policy);
  return cudaGetLastError();
}

}  // namespace

bool MmaTiledRuns(int capability) { return capability >= 80 && capability <= 90; }

cudaError_t EnqueueMmaSequence(const LaunchArguments& launch, const TilePolicy& policy,
                               int multiprocessors, cudaStream_t stream) {
  const auto blocks = static_cast<uint32_t>(kMmaBlocks * multiprocessors);
  return tile::WithOperand(policy.operand, [&](auto operand) {
    return EnqueueSequence<decltype(operand)::value>(launch, policy, blocks, stream);
  });
}

cudaError_t EnqueueMmaBatch(const LaunchArguments& launch, const TilePolicy& policy,
                            int multiprocessors, cudaStream_t stream) {
  const auto blocks = static_cast<uint32_t>(kMmaBlocks * multiprocessors);
  return tile::WithOperand(policy.operand, [&](auto operand) {
    return EnqueueBatch<decltype(operand)::value>(launch, policy, blocks, stream);
  });
}

}  // namespace vixen::kernels
