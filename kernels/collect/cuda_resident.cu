// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_resident.h"

#include <cuda_fp16.h>

#include <cstddef>

#include "kernels/collect/cuda_mma.cuh"
#include "kernels/collect/cuda_rows.cuh"
#include "kernels/collect/cuda_tile_layout.h"
#include "kernels/env/step.h"

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define VIXEN_RESIDENT 1
#else
#define VIXEN_RESIDENT 0
#endif

namespace vixen::kernels {
namespace {

#if VIXEN_RESIDENT

constexpr int kThreads = 32 * tile::kWarps;
constexpr int kRowWords =
    36;  // a state of 64 halves, padded: lanes of a quarter read 8 banks apart
constexpr int kPartialRows = 52;  // outputs of a partial sum, padded

// Biases as shared memory holds them: BiasLayout of the default widths without the value's weights.
constexpr int kBias1 = 256;
constexpr int kBias2 = 512;
constexpr int kAdvantageBias = 768;
constexpr int kValueBias = 816;
constexpr int kBiases = 817;
constexpr int kValueWeights = 128;  // left out before the advantage's

// What a row needs but Q and the networks' share, one word a lane: see RowWriter.
struct StagedRecord {
  uint32_t word[16];
};

__device__ __forceinline__ void Stage(const StepRecord& record, StagedRecord& staged) {
  uint32_t* word = staged.word;
  word[0] = record.bar;
  word[1] = record.episode;
#pragma unroll
  for (int i = 0; i < kPortfolioFeatures; ++i) {
    word[2 + i] = __float_as_uint(record.portfolio[i]);
    word[5 + i] = __float_as_uint(record.next_portfolio[i]);
  }
  word[8] = __float_as_uint(record.pnl);
  word[9] = __float_as_uint(record.barrier);
  word[10] = __float_as_uint(record.risk);
  word[11] = __float_as_uint(record.diversity);
  word[12] = __float_as_uint(record.costs.paid);
  word[13] = __float_as_uint(record.costs.notional);
  word[14] = record.costs.fills;
  word[15] = record.action | static_cast<uint32_t>(record.flags) << 8;
}

// Lane l of a warp writes word l of a staged record to its column; lanes 15 and 16 write action and
// flags, lane 17 Q(s, a).
struct RowWriter {
  std::byte* column = nullptr;
  uint32_t stride = 0;  // bytes a row

  __device__ RowWriter(const LaunchArguments& launch, int lane) {
    const BatchView& rows = launch.rows;
    const auto set = [&](void* base, uint32_t bytes, uint32_t offset) {
      column = static_cast<std::byte*>(base) + offset;
      stride = bytes;
    };
    if (lane == 0) set(rows.bar, 4, 0);
    if (lane == 1) set(rows.episode, 4, 0);
    if (lane >= 2 && lane < 5) set(rows.portfolio, 12, 4 * (lane - 2));
    if (lane >= 5 && lane < 8) set(rows.next_portfolio, 12, 4 * (lane - 5));
    if (lane >= 8 && lane < 12) set(launch.scratch, sizeof(RowScratch), 4 * (lane - 8));
    if (lane >= 12 && lane < 15) set(launch.scratch, sizeof(RowScratch), 20 + 4 * (lane - 12));
    if (lane == 15) set(rows.action, 1, 0);
    if (lane == 16) set(rows.flags, 1, 0);
    if (lane == 17) set(launch.scratch, sizeof(RowScratch), 16);
  }

  __device__ __forceinline__ void Write(const StagedRecord& record, float q, size_t row,
                                        int lane) const {
    if (lane > 17) return;
    std::byte* at = column + row * stride;
    const uint32_t word = record.word[lane < 16 ? lane : 15];
    if (lane == 15 || lane == 16) {
      *reinterpret_cast<uint8_t*>(at) = static_cast<uint8_t>(lane == 15 ? word : word >> 8);
    } else {
      *reinterpret_cast<uint32_t*>(at) = lane == 17 ? __float_as_uint(q) : word;
    }
  }
};

// kTiles × 8 episodes of one block.
template <int kTiles>
struct Shared {
  uint4 layer2[tile::kFragments2 * tile::kWarps][32];
  uint4 activations[2][kTiles][tile::kWarps][32];  // B operands of two steps each
  float advantage[kTiles][4][8][kPartialRows];     // [warp − 4][episode][output]
  float value[kTiles][4][8];                       // [warp][episode]
  uint32_t rows[2][2][kTiles * 8][kRowWords];      // [step % 2][goes on, starts anew][episode]
  uint32_t touched[kTiles * 8][8];                 // where prefetches land
  SlotState slots[kTiles * 8];
  StagedRecord records[kTiles * 8];
  uint32_t chosen[kTiles * 8];  // which of the two rows a step reads
  float biases[kBiases];        // layers 0, 1, 2, advantage, value
};

struct Fragment {
  uint32_t word[4];
};

__device__ Fragment LoadFragment(const std::byte* image, int index, int lane) {
  const uint4 v = reinterpret_cast<const uint4*>(image)[index * 32 + lane];
  return {{v.x, v.y, v.z, v.w}};
}

// Two row blocks of 16 neurons × 8 episodes.
struct Sums {
  float d[2][4];
};

__device__ __forceinline__ Sums BiasOf(const float* bias, int warp, int row) {
  Sums sums;
#pragma unroll
  for (int block = 0; block < 2; ++block) {
    const float low = bias[32 * warp + 16 * block + row];
    const float high = bias[32 * warp + 16 * block + row + 8];
    sums.d[block][0] = sums.d[block][1] = low;
    sums.d[block][2] = sums.d[block][3] = high;
  }
  return sums;
}

// Activations of a warp's 32 neurons as B operands of the next layer's two steps.
__device__ __forceinline__ uint4 OperandOf(const Sums& sums) {
  uint32_t words[4];
#pragma unroll
  for (int block = 0; block < 2; ++block) {
    const float* d = sums.d[block];
    words[2 * block] = TransposeHalves(PackRectified(d[0], d[1]));
    words[2 * block + 1] = TransposeHalves(PackRectified(d[2], d[3]));
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

__device__ __forceinline__ uint32_t HalfBits(float value) {
  return PackHalf(value, 0.0f) & 0xffffu;
}

// Where StartBar looks first: for prefetches.
__device__ __forceinline__ uint32_t DrawnBar(const MarketView& market, uint32_t draw) {
  return market.begin +
         static_cast<uint32_t>((static_cast<uint64_t>(draw) * (market.end - market.begin)) >> 32);
}

__device__ void PutPortfolio(uint32_t* row, uint32_t features, const float* portfolio) {
  __half* halves = reinterpret_cast<__half*>(row);
#pragma unroll
  for (int i = 0; i < kPortfolioFeatures; ++i) {
    halves[features + i] = __ushort_as_half(static_cast<unsigned short>(HalfBits(portfolio[i])));
  }
}

// Advantages of actions lane and lane + 32 (0 beyond 45) from the four partial sums.
struct LaneAdvantage {
  float first, second;
};
__device__ __forceinline__ LaneAdvantage AdvantageOf(const float (*sums)[kPartialRows],
                                                     const float* bias, int lane) {
  LaneAdvantage a = {sums[0][lane] + sums[1][lane] + sums[2][lane] + sums[3][lane] + bias[lane],
                     0.0f};
  if (lane < kActions - 32) {
    const int at = lane + 32;
    a.second = sums[0][at] + sums[1][at] + sums[2][at] + sums[3][at] + bias[at];
  }
  return a;
}

// GreedyAction over the lanes.
__device__ __forceinline__ int WarpGreedy(uint64_t allowed, LaneAdvantage a, int lane) {
  constexpr int kLeast = static_cast<int>(0x80000000u);
  const bool allowed_first = allowed >> lane & 1;
  const bool allowed_second = allowed >> lane >> 32 & 1;
  const int first = allowed_first ? OrderOf(a.first) : kLeast;
  const int second = allowed_second ? OrderOf(a.second) : kLeast;
  const int best = __reduce_max_sync(kAllLanes, max(first, second));
  const unsigned at_first = __ballot_sync(kAllLanes, allowed_first && first == best);
  const unsigned at_second = __ballot_sync(kAllLanes, allowed_second && second == best);
  return at_first != 0 ? __ffs(at_first) - 1 : 31 + __ffs(at_second);
}

// Grid: one block for each `per_block` slots (the last may have fewer), 8 warps.
template <int kTiles>
__global__ void __launch_bounds__(kThreads, 1)
    ResidentKernel(const __grid_constant__ LaunchArguments launch, const TileNetwork network,
                   const uint32_t per_block) {
  extern __shared__ __align__(1024) std::byte memory[];
  auto& shared = *reinterpret_cast<Shared<kTiles>*>(memory);
  const int lane = threadIdx.x % 32;
  const int warp = __shfl_sync(kAllLanes, threadIdx.x / 32, 0);
  const int row = lane / 4;  // fragment row: neuron of an operand A, episode of an operand B
  const int quad = lane % 4;
  const uint32_t first_slot = blockIdx.x * per_block;
  const int episodes = min(per_block, launch.episodes - first_slot);
  const MarketView& market = launch.market.view;
  const uint4* packed = reinterpret_cast<const uint4*>(launch.market.packed);  // 8 a bar
  const uint32_t features = market.feature_count;
  const EnvSettings& settings = launch.rules.settings;

  // Weights: layers 0, 1 and 3 into registers, layer 2 into shared memory.
  Fragment w0[2][4], w1[16][2], w3[3][2];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    w0[i / 4][i % 4] = LoadFragment(network.image, warp * tile::kFragments0 + i, lane);
  }
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    w1[i / 2][i % 2] =
        LoadFragment(network.image, tile::kFragment1 + warp * tile::kFragments1 + i, lane);
  }
#pragma unroll
  for (int i = 0; i < 6; ++i) {
    w3[i / 2][i % 2] =
        LoadFragment(network.image, tile::kFragment3 + warp * tile::kFragments3 + i, lane);
  }
  for (int i = warp; i < tile::kFragments2 * tile::kWarps; i += tile::kWarps) {
    const Fragment f = LoadFragment(network.image, tile::kFragment2 + i, lane);
    shared.layer2[i][lane] = make_uint4(f.word[0], f.word[1], f.word[2], f.word[3]);
  }
  for (int i = threadIdx.x; i < kBiases; i += kThreads) {
    shared.biases[i] = network.biases[i < kAdvantageBias ? i : i + kValueWeights];
  }
  // Slots and the first states; rows of episodes that are not there stay zero.
  for (int i = threadIdx.x; i < 4 * kTiles * 8 * kRowWords; i += kThreads) {
    (&shared.rows[0][0][0][0])[i] = 0;
  }
  __syncthreads();
  for (int e = warp; e < episodes; e += tile::kWarps) {
    const SlotState& slot = launch.slots[first_slot + e];
    if (lane < 8) {
      reinterpret_cast<uint4*>(shared.rows[0][0][e])[lane] =
          packed[static_cast<size_t>(slot.bar) * 8 + lane];
    }
    __syncwarp();
    if (lane == 0) {
      float portfolio[kPortfolioFeatures];
      ObservePortfolio(launch.rules, slot, market.targets[4 * static_cast<size_t>(slot.bar)],
                       portfolio);
      PutPortfolio(shared.rows[0][0][e], features, portfolio);
      shared.slots[e] = slot;
      shared.chosen[e] = 0;
    }
  }
  __syncthreads();

  // The rules of episode warp + 8·t run in lane t; its next rows are fetched by lanes 16t … 16t
  // + 15.
  const int ruled = warp + 8 * lane;
  const bool rules_here = lane < kTiles && ruled < episodes;
  const int fetched = warp + 8 * (lane / 16);
  const bool fetches_here = lane / 16 < kTiles && fetched < episodes;
  float first[kTiles] = {}, second[kTiles] = {};  // advantages of actions lane and lane + 32
  int greedy[kTiles] = {};
  bool active = false;
  const RowWriter writer(launch, lane);

  // Writes what step `step` left.
  const auto emit = [&](uint32_t step) {
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      const int e = warp + 8 * t;
      if (e >= episodes) continue;
      const float* value_sums = &shared.value[t][0][warp];
      const float value = value_sums[0] + value_sums[8] + value_sums[16] + value_sums[24] +
                          shared.biases[kValueBias];
      const float mean = WarpSum(first[t] + second[t]) / static_cast<float>(kActions);
      const StagedRecord& record = shared.records[e];
      const int action = record.word[15] & 0xff;
      const float taken_first = __shfl_sync(kAllLanes, first[t], action & 31);
      const float taken_second = __shfl_sync(kAllLanes, second[t], action & 31);
      const size_t row = static_cast<size_t>(first_slot + e) * launch.steps + step;
      writer.Write(record, value + (action < 32 ? taken_first : taken_second) - mean, row, lane);
      if (launch.rows.q != nullptr) {
        const bool is_active = __shfl_sync(kAllLanes, active, t);
        float* out = launch.rows.q + row * kActions;
        out[lane] = is_active ? value + first[t] - mean : 0.0f;
        if (lane < kActions - 32) out[lane + 32] = is_active ? value + second[t] - mean : 0.0f;
      }
    }
  };

  for (uint32_t step = 0; step < launch.steps; ++step) {
    // What this step's rules and the next step's states will read begins to travel: the bar's
    // targets, and whether the bar drawn for a fresh episode is a last one.
    uint32_t draw = 0;
    uint32_t bar = 0;
    if (fetches_here) {
      const SlotState& slot = shared.slots[fetched];
      bar = slot.bar;
      draw = NextRandom(NextRandom(NextRandom(slot.rng)));
      if (lane % 16 == 2) {
        TouchL1(&shared.touched[fetched][5], market.last + DrawnBar(market, draw) / 4 * 4, false);
      }
      if (lane % 16 == 0) {
        TouchL1(&shared.touched[fetched][0], market.targets + 4 * static_cast<size_t>(bar), true);
      } else if (lane % 16 == 1) {
        TouchL1(&shared.touched[fetched][4], market.last + (bar + 1) / 4 * 4, false);
      }
    }

    // Layer 0.
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      const int e = 8 * t + row;
      uint4 low = make_uint4(0, 0, 0, 0);
      uint4 high = low;
      if (e < episodes) {
        const uint4* state =
            reinterpret_cast<const uint4*>(shared.rows[step & 1][shared.chosen[e]][e]) + 2 * quad;
        low = state[0];
        high = state[1];
      }
      Sums sums = BiasOf(shared.biases, warp, row);
      const uint32_t b[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        MmaF16(sums.d[0], w0[0][k].word, b[2 * k], b[2 * k + 1]);
        MmaF16(sums.d[1], w0[1][k].word, b[2 * k], b[2 * k + 1]);
      }
      shared.activations[0][t][warp][lane] = OperandOf(sums);
    }
    __syncthreads();

    // Layer 1.
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      Sums even = BiasOf(shared.biases + kBias1, warp, row);
      Sums odd = {};
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        uint4 b = make_uint4(0, 0, 0, 0);
        if (8 * t + row < episodes) b = shared.activations[0][t][j][lane];
        MmaF16(even.d[0], w1[2 * j][0].word, b.x, b.y);
        MmaF16(even.d[1], w1[2 * j][1].word, b.x, b.y);
        MmaF16(odd.d[0], w1[2 * j + 1][0].word, b.z, b.w);
        MmaF16(odd.d[1], w1[2 * j + 1][1].word, b.z, b.w);
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) even.d[i / 4][i % 4] += odd.d[i / 4][i % 4];
      shared.activations[1][t][warp][lane] = OperandOf(even);
    }
    // The next step's two candidate rows; their places were read by the step before.
    if (fetches_here) {
      const bool anew = (lane & 8) != 0;
      const uint32_t source = anew ? StartBar(market, draw) : bar + 1;
      CopyAsync16(reinterpret_cast<uint4*>(shared.rows[(step + 1) & 1][anew][fetched]) + lane % 8,
                  packed + static_cast<size_t>(source) * 8 + lane % 8);
    }
    __syncthreads();

    // Layer 2, and this warp's share of the last layers.
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      Sums even = BiasOf(shared.biases + kBias2, warp, row);
      Sums odd = {};
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        uint4 b = make_uint4(0, 0, 0, 0);
        if (8 * t + row < episodes) b = shared.activations[1][t][j][lane];
#pragma unroll
        for (int u = 0; u < 4; ++u) {
          const uint4 a = shared.layer2[warp * tile::kFragments2 + 4 * j + u][lane];
          const uint32_t words[4] = {a.x, a.y, a.z, a.w};
          Sums& sums = u < 2 ? even : odd;
          MmaF16(sums.d[u % 2], words, u < 2 ? b.x : b.z, u < 2 ? b.y : b.w);
        }
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) even.d[i / 4][i % 4] += odd.d[i / 4][i % 4];
      const uint4 b = OperandOf(even);
      if (warp < 4) {
        float d[4] = {};
        MmaF16(d, w3[0][0].word, b.x, b.y);
        MmaF16(d, w3[0][1].word, b.z, b.w);
        if (row == 0) {
          shared.value[t][warp][2 * quad] = d[0];
          shared.value[t][warp][2 * quad + 1] = d[1];
        }
      } else {
#pragma unroll
        for (int block = 0; block < 3; ++block) {
          float d[4] = {};
          MmaF16(d, w3[block][0].word, b.x, b.y);
          MmaF16(d, w3[block][1].word, b.z, b.w);
          float(*out)[kPartialRows] = shared.advantage[t][warp - 4];
          const int output = 16 * block + row;
          out[2 * quad][output] = d[0];
          out[2 * quad + 1][output] = d[1];
          out[2 * quad][output + 8] = d[2];
          out[2 * quad + 1][output + 8] = d[3];
        }
      }
    }
    __syncthreads();

    // Greedy actions, then the rules.
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      if (warp + 8 * t >= episodes) continue;
      const float* sums = &shared.advantage[t][0][warp][0];
      constexpr int kNext = 8 * kPartialRows;
      const float* bias = shared.biases + kAdvantageBias;
      first[t] = sums[lane] + sums[kNext + lane] + sums[2 * kNext + lane] + sums[3 * kNext + lane] +
                 bias[lane];
      second[t] = 0.0f;
      if (lane < kActions - 32) {
        const float* more = sums + 32 + lane;
        second[t] = more[0] + more[kNext] + more[2 * kNext] + more[3 * kNext] + bias[32 + lane];
      }
      greedy[t] = WarpGreedy(launch.allowed, {first[t], second[t]}, lane);
    }
    WaitCopies();
    __syncwarp();
    if (rules_here) {
      SlotState& slot = shared.slots[ruled];
      active = slot.active != 0;
      StepRecord record;
      uint32_t anew = 0;
      float portfolio[kPortfolioFeatures] = {1.0f, 0.0f, 0.0f};
      if (active) {
        int wanted = greedy[0];
        if constexpr (kTiles > 1) wanted = lane == 0 ? greedy[0] : greedy[1];
        const size_t at = static_cast<size_t>(first_slot + ruled) * launch.steps + step;
        const int scripted = launch.scripted != nullptr ? launch.scripted[at] : -1;
        const Choice choice = ChooseAction(settings, launch.epsilon, wanted, scripted, slot.rng);
        record = StepSlot(launch.rules, market, choice, step, slot);
        anew = (record.flags & (kFlagTerminated | kFlagTruncated)) != 0;
        // next_close is the next bar's close bit for bit, so s' is the next step's state as well.
        if (!anew) {
#pragma unroll
          for (int i = 0; i < kPortfolioFeatures; ++i) portfolio[i] = record.next_portfolio[i];
        }
      }
      shared.chosen[ruled] = anew;
      PutPortfolio(shared.rows[(step + 1) & 1][anew][ruled], features, portfolio);
      Stage(record, shared.records[ruled]);
    }
    __syncthreads();
    emit(step);
  }
  for (int e = warp; e < episodes; e += tile::kWarps) {
    if (lane == 0) launch.slots[first_slot + e] = shared.slots[e];
  }
}

// The speculating variant, one episode a block: three helper warps compute the step for every
// action while the matrix warps are busy, so that the greedy action only selects a result. A warp
// takes one category, whose steps run the same branches: short, flat, long.
constexpr int kMatrixThreads = kThreads;
constexpr int kHelperThreads = 128;

// A slot as one action leaves it. Of its diversity window only the byte of the step is kept up to
// date: the whole window is in SpeculativeShared.
struct alignas(16) Candidate {
  SlotState slot;
  uint32_t padding[2];
};
static_assert(sizeof(Candidate) == 176);
static_assert(offsetof(SlotState, category_window) == 64);
static_assert(offsetof(SlotState, barrier_armed) == 164);
constexpr int kFlagsWord = 164 / 4;  // barrier_armed, active

// The random half of a step's choice, made a step ahead; action −1: the greedy one.
struct Draw {
  int action;
  uint32_t explored;
  uint32_t rng;
};

struct SpeculativeShared {
  uint4 layer2[tile::kFragments2 * tile::kWarps][32];
  uint4 layer0[tile::kFragments0 * tile::kWarps][32];
  uint4 activations[2][tile::kWarps][32];
  float advantage[2][4][kPartialRows];  // [step % 2][warp − 4][output]
  float value[2][4];
  uint32_t rows[2][2][kRowWords];
  uint32_t touched[32][4];
  Candidate candidates[2][48];  // [step % 2][action]: the slot if the step before took it
  StagedRecord records[2];
  Draw draws[2][2];                       // [step % 2][goes on, starts anew]
  uint32_t window[kDiversityWindow / 4];  // the slot's, as bytes
  uint32_t winner;                        // the action taken
  uint32_t chosen;                        // which of the two rows the step reads
  float biases[kBiases];
};

constexpr int kAllThreads = kMatrixThreads + kHelperThreads;

// Every role passes the same two barriers a step; the roles' code paths differ, so the barriers are
// of the kind that does not ask a warp's lanes to arrive together.
__device__ __forceinline__ void SyncBlock() {
  asm volatile("barrier.sync 0, %0;" ::"n"(kAllThreads) : "memory");
}
// The matrix warps among themselves.
__device__ __forceinline__ void SyncMatrix() {
  asm volatile("barrier.sync 1, %0;" ::"n"(kMatrixThreads) : "memory");
}

__device__ void RunMatrixWarp(const LaunchArguments& launch, const TileNetwork& network,
                              SpeculativeShared& shared, int warp, int lane) {
  const int row = lane / 4;
  const int quad = lane % 4;
  Fragment w1[16][2], w3[3][2];
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    w1[i / 2][i % 2] =
        LoadFragment(network.image, tile::kFragment1 + warp * tile::kFragments1 + i, lane);
  }
#pragma unroll
  for (int i = 0; i < 6; ++i) {
    w3[i / 2][i % 2] =
        LoadFragment(network.image, tile::kFragment3 + warp * tile::kFragments3 + i, lane);
  }
  const bool real = row == 0;  // lanes of the one episode's column of an operand B
  const uint4 zero = make_uint4(0, 0, 0, 0);
  // Weights and biases that do not depend on what a barrier waits for are read before it.
  uint4 ahead[8];
  Sums bias = BiasOf(shared.biases, warp, row);
  const auto read_ahead = [&](const uint4(*fragments)[32]) {
#pragma unroll
    for (int i = 0; i < 8; ++i) ahead[i] = fragments[i][lane];
  };
  read_ahead(shared.layer0 + warp * tile::kFragments0);
#pragma unroll 1
  for (uint32_t step = 0; step < launch.steps; ++step) {
    {
      uint4 low = zero;
      uint4 high = zero;
      if (real) {
        const uint4* state =
            reinterpret_cast<const uint4*>(shared.rows[step & 1][shared.chosen]) + 2 * quad;
        low = state[0];
        high = state[1];
      }
      Sums sums = bias;
      const uint32_t b[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const uint4 a = ahead[i];
        const uint32_t words[4] = {a.x, a.y, a.z, a.w};
        MmaF16(sums.d[i / 4], words, b[2 * (i % 4)], b[2 * (i % 4) + 1]);
      }
      shared.activations[0][warp][lane] = OperandOf(sums);
      bias = BiasOf(shared.biases + kBias1, warp, row);
    }
    SyncMatrix();
    {
      Sums even = bias;
      Sums odd = {};
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        uint4 b = zero;
        if (real) b = shared.activations[0][j][lane];
        MmaF16(even.d[0], w1[2 * j][0].word, b.x, b.y);
        MmaF16(even.d[1], w1[2 * j][1].word, b.x, b.y);
        MmaF16(odd.d[0], w1[2 * j + 1][0].word, b.z, b.w);
        MmaF16(odd.d[1], w1[2 * j + 1][1].word, b.z, b.w);
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) even.d[i / 4][i % 4] += odd.d[i / 4][i % 4];
      shared.activations[1][warp][lane] = OperandOf(even);
      bias = BiasOf(shared.biases + kBias2, warp, row);
      read_ahead(shared.layer2 + warp * tile::kFragments2);
    }
    SyncMatrix();
    {
      Sums even = bias;
      Sums odd = {};
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        uint4 b = zero;
        if (real) b = shared.activations[1][j][lane];
#pragma unroll
        for (int u = 0; u < 4; ++u) {
          const int place = 4 * j + u;
          const uint4 a =
              place < 8 ? ahead[place] : shared.layer2[warp * tile::kFragments2 + place][lane];
          const uint32_t words[4] = {a.x, a.y, a.z, a.w};
          Sums& sums = u < 2 ? even : odd;
          MmaF16(sums.d[u % 2], words, u < 2 ? b.x : b.z, u < 2 ? b.y : b.w);
        }
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) even.d[i / 4][i % 4] += odd.d[i / 4][i % 4];
      const uint4 b = OperandOf(even);
      if (warp < 4) {
        float d[4] = {};
        MmaF16(d, w3[0][0].word, b.x, b.y);
        MmaF16(d, w3[0][1].word, b.z, b.w);
        if (lane == 0) shared.value[step & 1][warp] = d[0];
      } else {
        float* out = shared.advantage[step & 1][warp - 4];
#pragma unroll
        for (int block = 0; block < 3; ++block) {
          float d[4] = {};
          MmaF16(d, w3[block][0].word, b.x, b.y);
          MmaF16(d, w3[block][1].word, b.z, b.w);
          if (quad == 0) {
            out[16 * block + row] = d[0];
            out[16 * block + row + 8] = d[2];
          }
        }
      }
    }
    SyncBlock();  // the partial outputs are there
    bias = BiasOf(shared.biases, warp, row);
    read_ahead(shared.layer0 + warp * tile::kFragments0);
    SyncBlock();  // the next state is there
  }
}

// Each lane computes the step for one action of the category, then one lane's result is taken.
__device__ void RunSpeculator(const LaunchArguments& launch, SpeculativeShared& shared,
                              int category, int lane) {
  const int mine = (category == 0 ? 0 : category == 1 ? 2 * kStyles : 3 * kStyles) + lane;
  const bool speculates = lane < (category == 1 ? kStyles : 2 * kStyles);
  const uint32_t features = launch.market.view.feature_count;
#pragma unroll 1
  for (uint32_t step = 0; step < launch.steps; ++step) {
    const int next = (step + 1) & 1;
    Candidate& candidate = shared.candidates[next][speculates ? mine : kActions];
    // The same in every lane, so that the warp stays together at the barriers.
    const Candidate& now = shared.candidates[step & 1][shared.winner];
    const Draw draw = shared.draws[step & 1][shared.chosen];
    const bool active = now.slot.active != 0;
    const uint32_t place = now.slot.step % kDiversityWindow;
    StepRecord record;
    if (speculates) {
      const uint4* from = reinterpret_cast<const uint4*>(&now);
      uint4* to = reinterpret_cast<uint4*>(&candidate);
#pragma unroll
      for (int i = 0; i < 4; ++i) to[i] = from[i];
      reinterpret_cast<uint32_t*>(&candidate)[kFlagsWord] =
          reinterpret_cast<const uint32_t*>(&now)[kFlagsWord];
      if (active) {
        if (now.slot.step >= kDiversityWindow) {
          candidate.slot.category_window[place] =
              reinterpret_cast<const uint8_t*>(shared.window)[place];
        }
        candidate.slot.rng = draw.rng;
        record = StepSlot(launch.rules, launch.market.view, {mine, draw.explored != 0}, step,
                          candidate.slot);
      }
    }
    const bool anew = (record.flags & (kFlagTerminated | kFlagTruncated)) != 0;
    SyncBlock();  // the partial outputs are there
    const LaneAdvantage advantage =
        AdvantageOf(shared.advantage[step & 1], shared.biases + kAdvantageBias, lane);
    const int greedy = WarpGreedy(launch.allowed, advantage, lane);
    int taken = active ? (draw.action >= 0 ? draw.action : greedy) : 0;
    if (speculates && mine == taken) {
      // next_close is the next bar's close bit for bit, so s' is the next step's state as well.
      const bool goes_on = active && !anew;
      const float portfolio[kPortfolioFeatures] = {goes_on ? record.next_portfolio[0] : 1.0f,
                                                   goes_on ? record.next_portfolio[1] : 0.0f,
                                                   goes_on ? record.next_portfolio[2] : 0.0f};
      PutPortfolio(shared.rows[next][anew], features, portfolio);
      shared.chosen = anew;
      shared.winner = taken;
      if (active) reinterpret_cast<uint8_t*>(shared.window)[place] = static_cast<uint8_t>(category);
      Stage(record, shared.records[step & 1]);
    }
    SyncBlock();  // the next state is there
  }
}

// ChooseAction of step `step` from random state `rng`, the greedy action left open.
__device__ Draw DrawOf(const LaunchArguments& launch, uint32_t step, uint32_t rng) {
  const size_t row = static_cast<size_t>(blockIdx.x) * launch.steps + step;
  const int scripted =
      launch.scripted != nullptr && step < launch.steps ? launch.scripted[row] : -1;
  const Choice choice = ChooseAction(launch.rules.settings, launch.epsilon, -1, scripted, rng);
  return {choice.action, choice.explored, rng};
}

// Brings the rows that the next step may read, and into L1 what the next speculation will.
__device__ void FetchNext(const LaunchArguments& launch, SpeculativeShared& shared, uint32_t step,
                          int lane) {
  const MarketView& market = launch.market.view;
  const uint4* packed = reinterpret_cast<const uint4*>(launch.market.packed);
  const SlotState& slot = shared.candidates[step & 1][shared.winner].slot;
  const uint32_t draw = NextRandom(NextRandom(NextRandom(slot.rng)));
  const uint32_t start = StartBar(market, draw);
  const uint32_t next = slot.bar + 1;
  if (lane < 16) {
    const bool anew = lane >= 8;
    CopyAsync16(reinterpret_cast<uint4*>(shared.rows[(step + 1) & 1][anew]) + lane % 8,
                packed + static_cast<size_t>(anew ? start : next) * 8 + lane % 8);
    return;
  }
  // After this step the slot is at `next` or at `start`, with two or three numbers drawn.
  const uint32_t later = NextRandom(NextRandom(draw));
  uint32_t* to = shared.touched[lane];
  const auto last_word = [&](uint32_t bar) { return market.last + bar / 4 * 4; };
  if (lane == 16) TouchL1(to, market.targets + 4 * static_cast<size_t>(next), true);
  if (lane == 17) TouchL1(to, market.targets + 4 * static_cast<size_t>(start), true);
  if (lane == 18) TouchL1(to, last_word(min(next + 1, market.end - 1)), false);
  if (lane == 19) TouchL1(to, last_word(min(start + 1, market.end - 1)), false);
  if (lane == 20) TouchL1(to, last_word(DrawnBar(market, later)), false);
  if (lane == 21) TouchL1(to, last_word(DrawnBar(market, NextRandom(later))), false);
  if (lane == 22 || lane == 23) {
    // A fresh episode goes on from `draw`, the present one from the number before it.
    const uint32_t rng = lane == 23 ? draw : NextRandom(NextRandom(slot.rng));
    shared.draws[(step + 1) & 1][lane - 22] = DrawOf(launch, step + 1, rng);
  }
}

// The row that step `step` left.
__device__ void WriteRow(const LaunchArguments& launch, const SpeculativeShared& shared,
                         const RowWriter& writer, uint32_t step, int lane) {
  const int place = step & 1;
  const LaneAdvantage advantage =
      AdvantageOf(shared.advantage[place], shared.biases + kAdvantageBias, lane);
  const float* sums = shared.value[place];
  const float value = sums[0] + sums[1] + sums[2] + sums[3] + shared.biases[kValueBias];
  const float mean = WarpSum(advantage.first + advantage.second) / static_cast<float>(kActions);
  const StagedRecord& record = shared.records[place];
  const int action = record.word[15] & 0xff;
  const bool active = (record.word[15] >> 8 & kFlagValid) != 0;
  const float first = __shfl_sync(kAllLanes, advantage.first, action & 31);
  const float second = __shfl_sync(kAllLanes, advantage.second, action & 31);
  const size_t row = static_cast<size_t>(blockIdx.x) * launch.steps + step;
  writer.Write(record, value + (action < 32 ? first : second) - mean, row, lane);
  if (launch.rows.q == nullptr) return;
  float* out = launch.rows.q + row * kActions;
  out[lane] = active ? value + advantage.first - mean : 0.0f;
  if (lane < kActions - 32) out[lane + 32] = active ? value + advantage.second - mean : 0.0f;
}

// The fourth helper: inputs of the next step, then the row of the step before.
__device__ void RunCarrier(const LaunchArguments& launch, SpeculativeShared& shared, int lane) {
  const RowWriter writer(launch, lane);
  const bool recycles = launch.rules.settings.recycle;
#pragma unroll 1
  for (uint32_t step = 0; step < launch.steps; ++step) {
    FetchNext(launch, shared, step, lane);
    if (step > 0 && shared.chosen != 0 && recycles && lane < kDiversityWindow / 4) {
      shared.window[lane] = 0;
    }
    __syncwarp();
    if (step > 0) WriteRow(launch, shared, writer, step - 1, lane);
    WaitCopies();
    SyncBlock();  // the partial outputs are there
    SyncBlock();  // the next state is there
  }
  WriteRow(launch, shared, writer, launch.steps - 1, lane);
}

// Grid: one block a slot.
__global__ void __launch_bounds__(kAllThreads, 1)
    SpeculativeKernel(const __grid_constant__ LaunchArguments launch, const TileNetwork network) {
  extern __shared__ __align__(1024) std::byte memory[];
  auto& shared = *reinterpret_cast<SpeculativeShared*>(memory);
  const int lane = threadIdx.x % 32;
  const int warp = __shfl_sync(kAllLanes, threadIdx.x / 32, 0);
  SlotState& slot = launch.slots[blockIdx.x];
  for (int i = warp; i < tile::kFragments2 * tile::kWarps; i += kAllThreads / 32) {
    const Fragment f = LoadFragment(network.image, tile::kFragment2 + i, lane);
    shared.layer2[i][lane] = make_uint4(f.word[0], f.word[1], f.word[2], f.word[3]);
  }
  for (int i = warp; i < tile::kFragments0 * tile::kWarps; i += kAllThreads / 32) {
    const Fragment f = LoadFragment(network.image, i, lane);
    shared.layer0[i][lane] = make_uint4(f.word[0], f.word[1], f.word[2], f.word[3]);
  }
  for (int i = threadIdx.x; i < kBiases; i += kAllThreads) {
    shared.biases[i] = network.biases[i < kAdvantageBias ? i : i + kValueWeights];
  }
  if (warp == 0) {
    if (lane < 8) {
      reinterpret_cast<uint4*>(shared.rows[0][0])[lane] = reinterpret_cast<const uint4*>(
          launch.market.packed)[static_cast<size_t>(slot.bar) * 8 + lane];
    }
    if (lane < kDiversityWindow / 4) {
      shared.window[lane] = reinterpret_cast<const uint32_t*>(slot.category_window)[lane];
    }
    __syncwarp();
    if (lane == 0) {
      float portfolio[kPortfolioFeatures];
      const float price = launch.market.view.targets[4 * static_cast<size_t>(slot.bar)];
      ObservePortfolio(launch.rules, slot, price, portfolio);
      PutPortfolio(shared.rows[0][0], launch.market.view.feature_count, portfolio);
      shared.candidates[0][0].slot = slot;
      shared.draws[0][0] = DrawOf(launch, 0, slot.rng);
      shared.winner = 0;
      shared.chosen = 0;
    }
  }
  __syncthreads();
  if (warp < tile::kWarps) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 216;");
    RunMatrixWarp(launch, network, shared, warp, lane);
  } else {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 72;");
    if (warp < tile::kWarps + kCategories) {
      RunSpeculator(launch, shared, warp - tile::kWarps, lane);
    } else {
      RunCarrier(launch, shared, lane);
    }
  }
  __syncthreads();
  if (warp > 0) return;
  const bool fresh = shared.chosen != 0 && launch.rules.settings.recycle;
  if (lane == 0) slot = shared.candidates[launch.steps & 1][shared.winner].slot;
  __syncwarp();
  if (lane < kDiversityWindow / 4) {
    reinterpret_cast<uint32_t*>(slot.category_window)[lane] = fresh ? 0 : shared.window[lane];
  }
}

#else

// The device code of other targets: never launched there (ResidentEpisodes).
template <int kTiles>
struct Shared {};
struct SpeculativeShared {};
constexpr int kThreads = 32 * tile::kWarps;
constexpr int kAllThreads = kThreads + 128;
template <int kTiles>
__global__ void ResidentKernel(const __grid_constant__ LaunchArguments, const TileNetwork,
                               const uint32_t) {}
__global__ void SpeculativeKernel(const __grid_constant__ LaunchArguments, const TileNetwork) {}

#endif

template <int kTiles>
cudaError_t Enqueue(const LaunchArguments& launch, const TileNetwork& network, uint32_t per_block,
                    cudaStream_t stream) {
  constexpr int kBytes = sizeof(Shared<kTiles>);
  const cudaError_t error = cudaFuncSetAttribute(
      ResidentKernel<kTiles>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (error != cudaSuccess) return error;
  const uint32_t blocks = (launch.episodes + per_block - 1) / per_block;
  ResidentKernel<kTiles><<<blocks, kThreads, kBytes, stream>>>(launch, network, per_block);
  return cudaGetLastError();
}

}  // namespace

uint32_t ResidentEpisodes(int capability, int multiprocessors) {
  return capability == 90 ? 16u * static_cast<uint32_t>(multiprocessors) : 0u;
}

cudaError_t EnqueueResidentSequence(const LaunchArguments& launch, const TileNetwork& network,
                                    int multiprocessors, cudaStream_t stream) {
  const uint32_t blocks = static_cast<uint32_t>(multiprocessors);
  const uint32_t per_block = (launch.episodes + blocks - 1) / blocks;
  if (per_block == 1) {
    constexpr int kBytes = sizeof(SpeculativeShared);
    const cudaError_t error = cudaFuncSetAttribute(
        SpeculativeKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
    if (error != cudaSuccess) return error;
    SpeculativeKernel<<<launch.episodes, kAllThreads, kBytes, stream>>>(launch, network);
    return cudaGetLastError();
  }
  if (per_block <= 8) return Enqueue<1>(launch, network, per_block, stream);
  return Enqueue<2>(launch, network, per_block, stream);
}

}  // namespace vixen::kernels
