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

template <int kGroups>
constexpr int ThreadsOf() {
  return 128 * (kGroups + 1);
}

#if VIXEN_WGMMA

// What both kernels hold beside the ring.
struct alignas(1024) RingMemory {
  std::byte stages[kRing * tile::kStageBytes];
  uint64_t full[kRing];
  uint64_t empty[kRing];
};

template <int kGroups>
struct SequenceMemory {
  RingMemory ring;
  float biases[kTileBiases];
  SlotState slots[kGroups * kRows];
  float4 current[kGroups * kRows];  // bar as bits, portfolio features
};

struct BatchMemory {
  RingMemory ring;
  std::byte curiosity[tile::kCuriosityBytes];
  float biases[2][kTileBiases];  // target, online
  float curiosity_bias[3][64];   // layer 0, by category
  float curiosity_out[32];
};

__device__ Ring StartRing(RingMemory& memory, int consumer_warps) {
  Ring ring{SharedAddress(memory.stages), SharedAddress(memory.full), SharedAddress(memory.empty)};
  if (threadIdx.x == 0) {
    for (int i = 0; i < kRing; ++i) {
      BarrierInit(ring.full + 8 * i, 1);
      BarrierInit(ring.empty + 8 * i, consumer_warps);
    }
    BarrierFenceInit();
  }
  return ring;
}

template <int kGroups>
__device__ void TakeRegisters() {
  if constexpr (kGroups == 2) asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
}
template <int kGroups>
__device__ void GiveRegisters() {
  if constexpr (kGroups == 2) asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
}

__device__ void PrefetchL2(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

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
__global__ void __launch_bounds__(ThreadsOf<kGroups>(), 1)
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
__global__ void __launch_bounds__(ThreadsOf<2>(), 1)
    TiledBatchKernel(const __grid_constant__ LaunchArguments launch, const TilePolicy policy) {
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
template <int kGroups>
struct SequenceMemory {};
struct BatchMemory {};
template <int kGroups>
__global__ void TiledSequenceKernel(const __grid_constant__ LaunchArguments, const TileNetwork) {}
__global__ void TiledBatchKernel(const __grid_constant__ LaunchArguments, const TilePolicy) {}

#endif

template <int kGroups>
cudaError_t EnqueueSequence(const LaunchArguments& launch, const TileNetwork& network,
                            uint32_t blocks, cudaStream_t stream) {
  constexpr int kBytes = sizeof(SequenceMemory<kGroups>);
  const cudaError_t error = cudaFuncSetAttribute(
      TiledSequenceKernel<kGroups>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  TiledSequenceKernel<kGroups><<<blocks, ThreadsOf<kGroups>(), kBytes, stream>>>(launch, network);
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

cudaError_t EnqueueTiledBatch(const LaunchArguments& launch, const TilePolicy& policy,
                              int multiprocessors, cudaStream_t stream) {
  constexpr int kBytes = sizeof(BatchMemory);
  const cudaError_t error =
      cudaFuncSetAttribute(TiledBatchKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  const uint64_t tiles = (static_cast<uint64_t>(launch.episodes) * launch.steps + 127) / 128;
  const uint64_t blocks = static_cast<uint64_t>(multiprocessors);
  TiledBatchKernel<<<static_cast<unsigned>(tiles < blocks ? tiles : blocks), ThreadsOf<2>(), kBytes,
                     stream>>>(launch, policy);
  return cudaGetLastError();
}

}  // namespace vixen::kernels
