// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_tiled.h"

#include <algorithm>

#include "kernels/cuda/kernel_log.h"

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define VIXEN_HAS_WGMMA 1
#include "kernels/collect/cuda_tile.cuh"
#include "kernels/collect/cuda_tile_rows.cuh"
#else
#define VIXEN_HAS_WGMMA 0
#endif

namespace vixen::kernels {
namespace {

using tile::Operand;

constexpr int kRows = 64;  // of one warpgroup

#if VIXEN_HAS_WGMMA

template <int kGroups>
struct SequenceMemory {
  RingMemory ring;
  tile::NetworkConstants constants;
  SlotMemory<kGroups * kRows> slots;
};

// Grid: persistent; a block takes tiles of 64·kGroups slots and runs each to its last step.
template <Operand kOperand, int kGroups>
__global__ void __launch_bounds__(TileThreads<kGroups>(), 1)
    TiledSequenceKernel(const __grid_constant__ LaunchArguments launch, const TileNetwork network,
                        const float state_scale) {
  extern __shared__ __align__(1024) std::byte memory[];
  auto& shared = *reinterpret_cast<SequenceMemory<kGroups>*>(memory);
  LoadConstants(network.constants, shared.constants);
  FillMask(shared.slots.mask, launch.allowed);
  Ring ring = StartRing(shared.ring, 4 * kGroups);
  __syncthreads();
  constexpr uint32_t kTile = kRows * kGroups;
  const uint32_t tiles = (launch.episodes + kTile - 1) / kTile;
  const int group = threadIdx.x / 128;
  if (group == kGroups) {
    GiveRegisters<kGroups>();
    if (threadIdx.x != 128 * kGroups) return;
    for (uint32_t t = blockIdx.x; t < tiles; t += gridDim.x) {
      for (uint32_t step = 0; step < launch.steps; ++step) {
        StreamPass<kOperand>(ring, network.image);
      }
    }
  } else {
    TakeRegisters<kGroups>();
    const auto token = Token<kGroups>::Start(group);
    const int lane = threadIdx.x % 32;
    // With constants at a known address the compiler runs out of registers for tf32's products and
    // makes them wait for one another.
    int zero = 0;
    if constexpr (kOperand != Operand::kFp16) asm volatile("mov.u32 %0, 0;" : "=r"(zero));
    const tile::NetworkConstants& constants = (&shared.constants)[zero];
    for (uint32_t t = blockIdx.x; t < tiles; t += gridDim.x) {
      RunSlots<kOperand>(
          launch, shared.slots, state_scale, t * kTile, [&](const StateFragment<kOperand>& state) {
            return NetworkPass<kOperand, kGroups>(ring, token, constants, state, lane);
          });
    }
    token.End(group);
  }
}

#else

// The device code of other targets: never launched there (TiledRuns).
template <int kGroups>
struct SequenceMemory {};
template <Operand kOperand, int kGroups>
__global__ void TiledSequenceKernel(const __grid_constant__ LaunchArguments, const TileNetwork,
                                    const float) {}

#endif

template <Operand kOperand, int kGroups>
cudaError_t Enqueue(const LaunchArguments& launch, const TilePolicy& policy, uint32_t blocks,
                    cudaStream_t stream) {
  constexpr int kBytes = sizeof(SequenceMemory<kGroups>);
  const auto kernel = TiledSequenceKernel<kOperand, kGroups>;
  const cudaError_t error = AllowSharedMemory("tiled sequence", kernel, kBytes);
  if (error != cudaSuccess) return error;
  constexpr uint32_t kTile = kRows * kGroups;
  const uint32_t grid = std::min((launch.episodes + kTile - 1) / kTile, blocks);
  kernel<<<grid, 128 * (kGroups + 1), kBytes, stream>>>(launch, policy.online, policy.state_scale);
  return cudaGetLastError();
}

template <Operand kOperand>
cudaError_t EnqueueSequence(const LaunchArguments& launch, const TilePolicy& policy,
                            uint32_t blocks, cudaStream_t stream) {
  const uint32_t small = (launch.episodes + kRows - 1) / kRows;
  const uint32_t large = (small + 1) / 2;
  // A pass over 64 rows is taken for 0.63 of one over 128: the fewer time units win.
  const float small_time = 0.63f * static_cast<float>((small + blocks - 1) / blocks);
  const float large_time = static_cast<float>((large + blocks - 1) / blocks);
  return small_time < large_time ? Enqueue<kOperand, 1>(launch, policy, blocks, stream)
                                 : Enqueue<kOperand, 2>(launch, policy, blocks, stream);
}

}  // namespace

bool TiledRuns(int capability) { return capability == 90; }

cudaError_t EnqueueTiledSequence(const LaunchArguments& launch, const TilePolicy& policy,
                                 int multiprocessors, cudaStream_t stream) {
  const auto blocks = static_cast<uint32_t>(multiprocessors);
  return tile::WithOperand(policy.operand, [&](auto operand) {
    return EnqueueSequence<decltype(operand)::value>(launch, policy, blocks, stream);
  });
}

}  // namespace vixen::kernels
