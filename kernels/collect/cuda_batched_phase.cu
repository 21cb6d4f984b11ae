// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_batched_phase.h"

#include <algorithm>

#include "kernels/cuda/kernel_log.h"

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define VIXEN_HAS_WGMMA 1
#include "kernels/collect/cuda_finished_rows.cuh"
#include "kernels/collect/cuda_tile.cuh"
#else
#define VIXEN_HAS_WGMMA 0
#endif

namespace vixen::kernels {
namespace {

using tile::Operand;

constexpr int kGroups = 2;
constexpr int kTileRows = 64 * kGroups;

#if VIXEN_HAS_WGMMA

struct BatchMemory {
  RingMemory ring;
  tile::NetworkConstants constants[2];  // target, online
  tile::CuriosityConstants curiosity;
  FinishMemory<kTileRows> rows;
};

// Sums of the curiosity model's last layer for 64 rows; its tiles are the ring's next stage.
template <Operand kOperand>
__device__ __forceinline__ void CuriosityPass(Ring& ring, const tile::CuriosityConstants& constants,
                                              const StateFragment<kOperand>& state,
                                              const int (&category)[2], int lane,
                                              float (&out)[16]) {
  constexpr int kInputs = tile::TileInputs(kOperand);
  __syncwarp();
  const uint32_t stage = ring.Wait();
  float h0[32];
  WgmmaFence();
  MultiplyState<kOperand, 64>(h0, state, stage);
  WgmmaCommit();
  WgmmaWait<0>();
  uint32_t a[1024 / kInputs];
  Activate<kOperand, 64>(h0, constants.scale[0], constants.bias0[category[0]],
                         constants.bias0[category[1]], lane % 4, a);
  WgmmaFence();
#pragma unroll
  for (int i = 0; i < 64 / kInputs; ++i) {
    MultiplyTile<kOperand, 32>(out, a + 16 * i, stage + tile::Layer0Bytes(kOperand, 64) + 4096 * i,
                               i > 0);
  }
  WgmmaCommit();
  WgmmaWait<0>();
  ring.Release(ring.place, lane);
  ring.Advance();
}

// Grid: persistent; a block takes 128 rows at a time.
template <Operand kOperand>
__global__ void __launch_bounds__(TileThreads<kGroups>(), 1)
    BatchedPhaseKernel(const __grid_constant__ LaunchArguments launch, const TilePolicy policy) {
  extern __shared__ __align__(1024) std::byte memory[];
  auto& shared = *reinterpret_cast<BatchMemory*>(memory);
  const bool curious = policy.curiosity.image != nullptr;
  const bool is_double = launch.rules.settings.double_dqn;
  LoadConstants(policy.target.constants, shared.constants[0]);
  LoadConstants(policy.online.constants, shared.constants[1]);
  if (curious) LoadConstants(policy.curiosity.constants, shared.curiosity);
  FillMask(shared.rows.mask, launch.allowed);
  Ring ring = StartRing(shared.ring, 4 * kGroups);
  __syncthreads();
  const uint64_t rows = static_cast<uint64_t>(launch.episodes) * launch.steps;
  const uint64_t tiles = (rows + kTileRows - 1) / kTileRows;
  const int group = threadIdx.x / 128;
  if (group == kGroups) {
    GiveRegisters<kGroups>();
    if (threadIdx.x != 128 * kGroups) return;
    for (uint64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
      if (curious) ring.Fill(policy.curiosity.image, tile::CuriosityBytes(kOperand));
      if (is_double) StreamPass<kOperand>(ring, policy.online.image);
      StreamPass<kOperand>(ring, policy.target.image);
    }
  } else {
    TakeRegisters<kGroups>();
    const auto token = Token<kGroups>::Start(group);
    const int lane = threadIdx.x % 32;
    RowBars next = BarsFrom(launch, static_cast<uint64_t>(blockIdx.x) * kTileRows);
    for (uint64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
      FinishTile<kOperand>(
          launch, shared.rows, policy.state_scale, t * kTileRows, (t + gridDim.x) * kTileRows, next,
          curious,
          [&](const StateFragment<kOperand>& state, const int(&category)[2], float(&out)[16]) {
            CuriosityPass<kOperand>(ring, shared.curiosity, state, category, lane, out);
            return &shared.curiosity;
          },
          [&](int network, const StateFragment<kOperand>& state) {
            return NetworkPass<kOperand, kGroups>(ring, token, shared.constants[network], state,
                                                  lane);
          },
          [] { WaitCopies(); });
    }
    token.End(group);
  }
}

#else

// The device code of other targets: never launched there (TiledRuns).
struct BatchMemory {};
template <Operand kOperand>
__global__ void BatchedPhaseKernel(const __grid_constant__ LaunchArguments, const TilePolicy) {}

#endif

template <Operand kOperand>
cudaError_t Enqueue(const LaunchArguments& launch, const TilePolicy& policy, int multiprocessors,
                    cudaStream_t stream) {
  constexpr int kBytes = sizeof(BatchMemory);
  const auto kernel = BatchedPhaseKernel<kOperand>;
  const cudaError_t error = AllowSharedMemory("batched phase", kernel, kBytes);
  if (error != cudaSuccess) return error;
  const uint64_t tiles =
      (static_cast<uint64_t>(launch.episodes) * launch.steps + kTileRows - 1) / kTileRows;
  const auto grid = static_cast<unsigned>(std::min<uint64_t>(tiles, multiprocessors));
  kernel<<<grid, 128 * (kGroups + 1), kBytes, stream>>>(launch, policy);
  return cudaGetLastError();
}

}  // namespace

cudaError_t EnqueueBatchedPhase(const LaunchArguments& launch, const TilePolicy& policy,
                                int multiprocessors, cudaStream_t stream) {
  return tile::WithOperand(policy.operand, [&](auto operand) {
    return Enqueue<decltype(operand)::value>(launch, policy, multiprocessors, stream);
  });
}

}  // namespace vixen::kernels
