// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_batched_phase.h"

#include "kernels/collect/cuda_rows.cuh"
#include "kernels/env/step.h"

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define VIXEN_WGMMA 1
#include "kernels/collect/cuda_tile.cuh"
#else
#define VIXEN_WGMMA 0
#include "kernels/collect/cuda_tile_layout.h"
#endif

namespace vixen::kernels {
namespace {

#if VIXEN_WGMMA

struct BatchMemory {
  RingMemory ring;
  std::byte curiosity[tile::kCuriosityBytes];
  float biases[2][kTileBiases];  // target, online
  float curiosity_bias[3][64];   // layer 0, by category
  float curiosity_out[32];
};

// Mean squared error of the curiosity model for rows lane/4 and + 8 of the warpgroup.
__device__ void CuriosityPass(const BatchMemory& shared, const StateFragment& state,
                              const int (&category)[2], const float* const (&seen)[2],
                              uint32_t features, const float* const (&next_portfolio)[2], int quad,
                              float (&error)[2]) {
  const uint32_t image = SharedAddress(shared.curiosity);
  float h0[32];
  WgmmaFence();
#pragma unroll
  for (int i = 0; i < 4; ++i) Wgmma<64>(h0, state.word[i], TileDescriptor(image + 32 * i), i > 0);
  WgmmaCommit();
  WgmmaWait<0>();
  uint32_t a[16];
  Activate<64>(h0, shared.curiosity_bias[category[0]], shared.curiosity_bias[category[1]], quad, a);
  float out[16];
  WgmmaFence();
#pragma unroll
  for (int i = 0; i < 4; ++i)
    Wgmma<32>(out, a + 4 * i, TileDescriptor(image + 8192 + 32 * i), i > 0);
  WgmmaCommit();
  WgmmaWait<0>();
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int u = 0; u < 2; ++u) {
        const uint32_t column = 8 * j + 2 * quad + u;
        const float next =
            column < features ? seen[r][column] : next_portfolio[r][column - features];
        const float difference = out[4 * j + 2 * r + u] + shared.curiosity_out[column] - next;
        sum += difference * difference;
      }
    }
    error[r] = QuadSum(sum) / 32.0f;
  }
}

// Rows first_row … of the launch, 64 a warpgroup. `bar`: their bars, replaced by those of the rows
// from next_row on, whose other inputs begin to travel to the L2 cache.
__device__ void FinishTile(const LaunchArguments& launch, const BatchMemory& shared, Ring& ring,
                           uint64_t first_row, uint64_t next_row, uint32_t (&next_bar)[2],
                           bool curious) {
  const int lane = threadIdx.x % 32;
  const int quad = lane % 4;
  const int warp = __shfl_sync(kAllLanes, threadIdx.x / 32, 0);
  const uint64_t rows = static_cast<uint64_t>(launch.episodes) * launch.steps;
  const BatchView& view = launch.rows;
  const uint32_t features = launch.market.view.feature_count;
  const uint16_t* packed = launch.market.packed;
  uint64_t row[2];
  uint64_t after[2];
  const uint32_t bar[2] = {next_bar[0], next_bar[1]};
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    row[r] = min(first_row + 16 * warp + lane / 4 + 8 * r, rows - 1);
    after[r] = min(next_row + 16 * warp + lane / 4 + 8 * r, rows - 1);
    next_bar[r] = view.bar[after[r]];
  }
  float error[2] = {0.0f, 0.0f};
  if (curious) {
    const StateFragment state =
        FragmentOf(LoadStateHalf(packed, bar[0], features, view.portfolio + row[0] * 3, quad),
                   LoadStateHalf(packed, bar[1], features, view.portfolio + row[1] * 3, quad));
    const int category[2] = {CategoryOf(view.action[row[0]]), CategoryOf(view.action[row[1]])};
    const float* const seen[2] = {
        launch.market.features + static_cast<size_t>(bar[0] + 1) * launch.market.stride,
        launch.market.features + static_cast<size_t>(bar[1] + 1) * launch.market.stride};
    const float* const next_portfolio[2] = {view.next_portfolio + row[0] * 3,
                                            view.next_portfolio + row[1] * 3};
    CuriosityPass(shared, state, category, seen, features, next_portfolio, quad, error);
  }
  const StateFragment next = FragmentOf(
      LoadStateHalf(packed, bar[0] + 1, features, view.next_portfolio + row[0] * 3, quad),
      LoadStateHalf(packed, bar[1] + 1, features, view.next_portfolio + row[1] * 3, quad));
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const uint16_t* line = packed + static_cast<size_t>(next_bar[r]) * 64;
    if (quad == 0) PrefetchL2(line);
    if (quad == 1) PrefetchL2(line + 64);
    if (quad == 2) {
      PrefetchL2(launch.market.features +
                 static_cast<size_t>(next_bar[r] + 1) * launch.market.stride);
      PrefetchL2(view.next_portfolio + after[r] * 3);
    }
    if (quad == 3) {
      PrefetchL2(launch.scratch + after[r]);
      PrefetchL2(view.portfolio + after[r] * 3);
    }
  }
  int action[2] = {-1, -1};
  // One copy of the pass in the code: first the online network where double DQN asks for it.
#pragma unroll 1
  for (int network = launch.rules.settings.double_dqn ? 1 : 0; network >= 0; --network) {
    const TileQ q = NetworkPass(ring, shared.biases[network], next, lane);
    if (network == 1 || action[0] < 0) {
      action[0] = QuadGreedy(q, 0, launch.allowed, quad);
      action[1] = QuadGreedy(q, 1, launch.allowed, quad);
    }
    if (network == 1) continue;
    const float next_q[2] = {QuadQ(q, 0, action[0], quad), QuadQ(q, 1, action[1], quad)};
    const int r = quad & 1;
    if (quad < 2 && first_row + 16 * warp + lane / 4 + 8 * r < rows) {
      const uint64_t at = r == 0 ? row[0] : row[1];
      FinishRow(launch, at, view.flags[at], r == 0 ? next_q[0] : next_q[1],
                r == 0 ? error[0] : error[1], curious);
    }
  }
}

// Grid: persistent; a block takes 128 rows at a time.
__global__ void __launch_bounds__(TileThreads<2>(), 1)
    BatchedPhaseKernel(const __grid_constant__ LaunchArguments launch, const TilePolicy policy) {
  extern __shared__ __align__(1024) std::byte memory[];
  auto& shared = *reinterpret_cast<BatchMemory*>(memory);
  const bool curious = policy.curiosity.image != nullptr;
  const bool is_double = launch.rules.settings.double_dqn;
  for (int i = threadIdx.x; i < 945; i += blockDim.x) {
    shared.biases[0][i] = policy.target.biases[i];
    shared.biases[1][i] = policy.online.biases[i];
  }
  if (curious) {
    const uint4* source = reinterpret_cast<const uint4*>(policy.curiosity.image);
    for (int i = threadIdx.x; i < static_cast<int>(tile::kCuriosityBytes / 16); i += blockDim.x) {
      reinterpret_cast<uint4*>(shared.curiosity)[i] = source[i];
    }
    for (int i = threadIdx.x; i < 3 * 64; i += blockDim.x) {
      const int category = i / 64;
      const int neuron = i % 64;
      shared.curiosity_bias[category][neuron] =
          policy.curiosity.biases[neuron] +
          policy.curiosity_parameters[neuron * (policy.embedding + kCategories) + policy.embedding +
                                      category];
    }
    if (threadIdx.x < 32)
      shared.curiosity_out[threadIdx.x] = policy.curiosity.biases[64 + threadIdx.x];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  Ring ring = StartRing(shared.ring, 8);
  __syncthreads();
  const uint64_t rows = static_cast<uint64_t>(launch.episodes) * launch.steps;
  const uint64_t tiles = (rows + 127) / 128;
  if (threadIdx.x / 128 == 2) {
    GiveRegisters<2>();
    if (threadIdx.x != 256) return;
    for (uint64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
      if (is_double) StreamPass(ring, policy.online.image);
      StreamPass(ring, policy.target.image);
    }
  } else {
    TakeRegisters<2>();
    uint32_t bar[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const uint64_t row =
          blockIdx.x * 128ull + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + 8 * r;
      bar[r] = launch.rows.bar[min(row, rows - 1)];
    }
    for (uint64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
      FinishTile(launch, shared, ring, t * 128, (t + gridDim.x) * 128, bar, curious);
    }
  }
}

#else

// The device code of other targets: never launched there (TiledRuns).
struct BatchMemory {};
__global__ void BatchedPhaseKernel(const __grid_constant__ LaunchArguments, const TilePolicy) {}

#endif

}  // namespace

cudaError_t EnqueueBatchedPhase(const LaunchArguments& launch, const TilePolicy& policy,
                                int multiprocessors, cudaStream_t stream) {
  constexpr int kBytes = sizeof(BatchMemory);
  const cudaError_t error =
      cudaFuncSetAttribute(BatchedPhaseKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  const uint64_t tiles = (static_cast<uint64_t>(launch.episodes) * launch.steps + 127) / 128;
  const uint64_t blocks = static_cast<uint64_t>(multiprocessors);
  BatchedPhaseKernel<<<static_cast<unsigned>(tiles < blocks ? tiles : blocks), TileThreads<2>(),
                       kBytes, stream>>>(launch, policy);
  return cudaGetLastError();
}

}  // namespace vixen::kernels
