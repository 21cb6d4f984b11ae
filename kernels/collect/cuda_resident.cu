// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_resident.h"

#include <cuda_fp16.h>

#include "kernels/collect/cuda_mma.cuh"
#include "kernels/collect/cuda_rows.cuh"
#include "kernels/collect/cuda_tile_layout.h"
#include "kernels/env/step.h"

namespace vixen::kernels {
namespace {

constexpr int kThreads = 32 * tile::kWarps;
constexpr int kRowWords = 36;       // a state of 64 halves, padded: lanes of a quarter read 8 banks apart
constexpr int kPartialRows = 52;    // outputs of a partial sum, padded

// Biases as shared memory holds them: BiasLayout of the default widths without the value's weights.
constexpr int kBias1 = 256;
constexpr int kBias2 = 512;
constexpr int kAdvantageBias = 768;
constexpr int kValueBias = 816;
constexpr int kBiases = 817;
constexpr int kValueWeights = 128;  // left out before the advantage's

// kTiles × 8 episodes of one block.
template <int kTiles>
struct Shared {
  uint4 layer2[tile::kFragments2 * tile::kWarps][32];
  uint4 activations[2][kTiles][tile::kWarps][32];      // B operands of two steps each
  float advantage[kTiles][4][8][kPartialRows];         // [warp − 4][episode][output]
  float value[kTiles][4][8];                           // [warp][episode]
  uint32_t rows[2][2][kTiles * 8][kRowWords];          // [step % 2][goes on, starts anew][episode]
  uint32_t touched[kTiles * 8][8];                     // where prefetches land
  SlotState slots[kTiles * 8];
  uint32_t chosen[kTiles * 8];                         // which of the two rows a step reads
  float biases[kBiases];                               // layers 0, 1, 2, advantage, value
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
    words[2 * block] = TransposeHalves(PackHalf(LeakyRelu(d[0]), LeakyRelu(d[1])));
    words[2 * block + 1] = TransposeHalves(PackHalf(LeakyRelu(d[2]), LeakyRelu(d[3])));
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

__device__ __forceinline__ uint32_t HalfBits(float value) { return PackHalf(value, 0.0f) & 0xffffu; }

__device__ void PutPortfolio(uint32_t* row, uint32_t features, const float* portfolio) {
  __half* halves = reinterpret_cast<__half*>(row);
#pragma unroll
  for (int i = 0; i < kPortfolioFeatures; ++i) {
    halves[features + i] = __ushort_as_half(static_cast<unsigned short>(HalfBits(portfolio[i])));
  }
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
  const int row = lane / 4;      // fragment row: neuron of an operand A, episode of an operand B
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
      ObservePortfolio(launch.rules, slot, market.targets[4 * static_cast<size_t>(slot.bar)], portfolio);
      PutPortfolio(shared.rows[0][0][e], features, portfolio);
      shared.slots[e] = slot;
      shared.chosen[e] = 0;
    }
  }
  __syncthreads();

  // The rules of episode warp + 8·t run in lane t; its next rows are fetched by lanes 16t … 16t + 15.
  const int ruled = warp + 8 * lane;
  const bool rules_here = lane < kTiles && ruled < episodes;
  const int fetched = warp + 8 * (lane / 16);
  const bool fetches_here = lane / 16 < kTiles && fetched < episodes;
  const unsigned allowed_first = launch.allowed >> lane & 1;
  const unsigned allowed_second = launch.allowed >> lane >> 32 & 1;
  float first[kTiles] = {}, second[kTiles] = {};  // advantages of actions lane and lane + 32
  int greedy[kTiles] = {};
  StepRecord record;
  bool active = false;

  // Writes what step `step` left in the registers above.
  const auto emit = [&](uint32_t step) {
    float q = 0.0f;
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      if (warp + 8 * t >= episodes) continue;
      const float* value_sums = &shared.value[t][0][warp];
      const float value = value_sums[0] + value_sums[8] + value_sums[16] + value_sums[24] +
                          shared.biases[kValueBias];
      const float mean = WarpSum(first[t] + (lane < kActions - 32 ? second[t] : 0.0f)) /
                         static_cast<float>(kActions);
      const int action = __shfl_sync(kAllLanes, record.action, t);
      const float taken_first = __shfl_sync(kAllLanes, first[t], action & 31);
      const float taken_second = __shfl_sync(kAllLanes, second[t], action & 31);
      if (lane == t) q = value + (action < 32 ? taken_first : taken_second) - mean;
      if (launch.rows.q != nullptr) {
        const bool is_active = __shfl_sync(kAllLanes, active, t);
        const size_t at = static_cast<size_t>(first_slot + warp + 8 * t) * launch.steps + step;
        float* out = launch.rows.q + at * kActions;
        out[lane] = is_active ? value + first[t] - mean : 0.0f;
        if (lane < kActions - 32) out[lane + 32] = is_active ? value + second[t] - mean : 0.0f;
      }
    }
    if (rules_here) {
      WriteRecord(launch, static_cast<size_t>(first_slot + ruled) * launch.steps + step, record, q);
    }
  };

  for (uint32_t step = 0; step < launch.steps; ++step) {
    // What this step's rules and the next step's states will read begins to travel: the bar's targets,
    // and whether the bar drawn for a fresh episode is a last one.
    uint32_t drawn = 0;
    uint8_t drawn_last = 0;
    uint32_t bar = 0;
    if (fetches_here) {
      const SlotState& slot = shared.slots[fetched];
      bar = slot.bar;
      const uint32_t draw = NextRandom(NextRandom(NextRandom(slot.rng)));
      drawn = market.begin +
              static_cast<uint32_t>((static_cast<uint64_t>(draw) * (market.end - market.begin)) >> 32);
      drawn_last = IsLastBar(market, drawn);
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
      const uint32_t source = anew ? drawn - (drawn_last ? 1 : 0) : bar + 1;
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
          float (*out)[kPartialRows] = shared.advantage[t][warp - 4];
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
      constexpr int kLeast = static_cast<int>(0x80000000u);
      const int order_first = allowed_first ? OrderOf(first[t]) : kLeast;
      const int order_second = allowed_second ? OrderOf(second[t]) : kLeast;
      const int best = __reduce_max_sync(kAllLanes, max(order_first, order_second));
      const unsigned at_first = __ballot_sync(kAllLanes, allowed_first && order_first == best);
      const unsigned at_second = __ballot_sync(kAllLanes, allowed_second && order_second == best);
      greedy[t] = at_first != 0 ? __ffs(at_first) - 1 : 31 + __ffs(at_second);
    }
    WaitCopies();
    __syncwarp();
    if (rules_here) {
      SlotState& slot = shared.slots[ruled];
      active = slot.active != 0;
      record = StepRecord();
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
    }
    __syncthreads();
    emit(step);
  }
  for (int e = warp; e < episodes; e += tile::kWarps) {
    if (lane == 0) launch.slots[first_slot + e] = shared.slots[e];
  }
}

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
  if (per_block <= 8) return Enqueue<1>(launch, network, per_block, stream);
  return Enqueue<2>(launch, network, per_block, stream);
}

}  // namespace vixen::kernels
