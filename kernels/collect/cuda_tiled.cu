// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_tiled.h"

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

constexpr int kRows = 64;  // of one warpgroup

#if VIXEN_WGMMA

template <int kGroups>
struct SequenceMemory {
  RingMemory ring;
  float biases[kTileBiases];
  SlotState slots[kGroups * kRows];
  float4 current[kGroups * kRows];  // bar as bits, portfolio features
};

// All steps of the tile of slots first_slot …; the warp's 16 rows belong to it alone.
template <int kGroups>
__device__ void RunTile(const LaunchArguments& launch, SequenceMemory<kGroups>& shared, Ring& ring,
                        uint32_t first_slot) {
  const int lane = threadIdx.x % 32;
  const int quad = lane % 4;
  const int warp = __shfl_sync(kAllLanes, threadIdx.x / 32, 0);
  const int low = 16 * warp + lane / 4;  // row in the block; the other is low + 8
  const MarketView& market = launch.market.view;
  const EnvSettings& settings = launch.rules.settings;
  // Lanes 0 and 1 of a quad keep the rules of its two rows.
  const int mine = low + 8 * (quad & 1);
  const uint32_t slot_index = first_slot + mine;
  const bool ruled = quad < 2 && slot_index < launch.episodes;
  SlotState& slot = shared.slots[mine];
  if (quad < 2) {
    float portfolio[kPortfolioFeatures] = {1.0f, 0.0f, 0.0f};
    uint32_t bar = market.begin;
    if (ruled) {
      slot = launch.slots[slot_index];
      bar = slot.bar;
      ObservePortfolio(launch.rules, slot, market.targets[4 * static_cast<size_t>(bar)], portfolio);
    }
    shared.current[mine] =
        make_float4(__uint_as_float(bar), portfolio[0], portfolio[1], portfolio[2]);
  }
#pragma unroll 1
  for (uint32_t step = 0; step < launch.steps; ++step) {
    __syncwarp();
    const float4 now[2] = {shared.current[low], shared.current[low + 8]};
    StateHalf halves[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float portfolio[kPortfolioFeatures] = {now[r].y, now[r].z, now[r].w};
      halves[r] = LoadStateHalf(launch.market.packed, __float_as_uint(now[r].x),
                                market.feature_count, portfolio, quad);
    }
    if (ruled) {
      const uint32_t draw = NextRandom(NextRandom(NextRandom(slot.rng)));
      const uint32_t start =
          market.begin +
          static_cast<uint32_t>((static_cast<uint64_t>(draw) * (market.end - market.begin)) >> 32);
      PrefetchL2(launch.market.packed + static_cast<size_t>(slot.bar + 1) * 64);
      PrefetchL2(launch.market.packed + static_cast<size_t>(start) * 64);
      PrefetchL2(market.targets + 4 * static_cast<size_t>(start));
      PrefetchL2(market.last + start);
    }
    const TileQ q = NetworkPass(ring, shared.biases, FragmentOf(halves[0], halves[1]), lane);
    const int greedy[2] = {QuadGreedy(q, 0, launch.allowed, quad),
                           QuadGreedy(q, 1, launch.allowed, quad)};
    const size_t row = static_cast<size_t>(slot_index) * launch.steps + step;
    Choice choice;
    bool active = false;
    if (ruled) {
      active = slot.active != 0;
      const int scripted = launch.scripted != nullptr ? launch.scripted[row] : -1;
      if (active) {
        choice = ChooseAction(settings, launch.epsilon, greedy[quad & 1], scripted, slot.rng);
      }
    }
    const float taken[2] = {
        QuadQ(q, 0, __shfl_sync(kAllLanes, choice.action, lane & ~3), quad),
        QuadQ(q, 1, __shfl_sync(kAllLanes, choice.action, (lane & ~3) | 1), quad)};
    if (launch.rows.q != nullptr) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const uint32_t n = first_slot + low + 8 * r;
        const bool is_active = __shfl_sync(kAllLanes, active, (lane & ~3) | r);
        if (n >= launch.episodes) continue;
        float* out = launch.rows.q + (static_cast<size_t>(n) * launch.steps + step) * kActions;
#pragma unroll
        for (int j = 0; j < 12; ++j) {
          const int action = 8 * (j / 2) + 2 * quad + j % 2;
          if (action < kActions) out[action] = is_active ? q.base[r] + q.advantage[r][j] : 0.0f;
        }
      }
    }
    if (ruled) {
      StepRecord record;
      float portfolio[kPortfolioFeatures] = {1.0f, 0.0f, 0.0f};
      if (active) {
        record = StepSlot(launch.rules, market, choice, step, slot);
        // next_close is the next bar's close bit for bit, so s' is the next step's state as well.
        if ((record.flags & (kFlagTerminated | kFlagTruncated)) == 0) {
#pragma unroll
          for (int i = 0; i < kPortfolioFeatures; ++i) portfolio[i] = record.next_portfolio[i];
        }
      }
      WriteRecord(launch, row, record, quad == 0 ? taken[0] : taken[1]);
      shared.current[mine] =
          make_float4(__uint_as_float(slot.bar), portfolio[0], portfolio[1], portfolio[2]);
    }
  }
  if (ruled) launch.slots[slot_index] = slot;
}

// Grid: persistent; a block takes tiles of 64·kGroups slots and runs each to its last step.
template <int kGroups>
__global__ void __launch_bounds__(TileThreads<kGroups>(), 1)
    TiledSequenceKernel(const __grid_constant__ LaunchArguments launch, const TileNetwork network) {
  extern __shared__ __align__(1024) std::byte memory[];
  auto& shared = *reinterpret_cast<SequenceMemory<kGroups>*>(memory);
  for (int i = threadIdx.x; i < 945; i += blockDim.x) shared.biases[i] = network.biases[i];
  Ring ring = StartRing(shared.ring, 4 * kGroups);
  __syncthreads();
  constexpr uint32_t kTile = kRows * kGroups;
  const uint32_t tiles = (launch.episodes + kTile - 1) / kTile;
  if (threadIdx.x / 128 == kGroups) {
    GiveRegisters<kGroups>();
    if (threadIdx.x != 128 * kGroups) return;
    for (uint32_t t = blockIdx.x; t < tiles; t += gridDim.x) {
      for (uint32_t step = 0; step < launch.steps; ++step) StreamPass(ring, network.image);
    }
  } else {
    TakeRegisters<kGroups>();
    for (uint32_t t = blockIdx.x; t < tiles; t += gridDim.x) {
      RunTile<kGroups>(launch, shared, ring, t * kTile);
    }
  }
}

#else

// The device code of other targets: never launched there (TiledRuns).
template <int kGroups>
struct SequenceMemory {};
template <int kGroups>
__global__ void TiledSequenceKernel(const __grid_constant__ LaunchArguments, const TileNetwork) {}

#endif

template <int kGroups>
cudaError_t EnqueueSequence(const LaunchArguments& launch, const TileNetwork& network,
                            uint32_t blocks, cudaStream_t stream) {
  constexpr int kBytes = sizeof(SequenceMemory<kGroups>);
  const cudaError_t error = cudaFuncSetAttribute(
      TiledSequenceKernel<kGroups>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  TiledSequenceKernel<kGroups><<<blocks, TileThreads<kGroups>(), kBytes, stream>>>(launch, network);
  return cudaGetLastError();
}

}  // namespace

bool TiledRuns(int capability) { return capability == 90; }

cudaError_t EnqueueTiledSequence(const LaunchArguments& launch, const TilePolicy& policy,
                                 int multiprocessors, cudaStream_t stream) {
  const uint32_t blocks = static_cast<uint32_t>(multiprocessors);
  const uint32_t small = (launch.episodes + kRows - 1) / kRows;
  const uint32_t large = (small + 1) / 2;
  // A pass over 64 rows takes about 0.63 of one over 128 (measured): the fewer time units win.
  const float small_time = 0.63f * static_cast<float>((small + blocks - 1) / blocks);
  const float large_time = static_cast<float>((large + blocks - 1) / blocks);
  if (small_time < large_time) {
    return EnqueueSequence<1>(launch, policy.online, small < blocks ? small : blocks, stream);
  }
  return EnqueueSequence<2>(launch, policy.online, large < blocks ? large : blocks, stream);
}

}  // namespace vixen::kernels
