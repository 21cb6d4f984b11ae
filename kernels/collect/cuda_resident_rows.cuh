// SPDX-License-Identifier: Apache-2.0
// What the resident kernel's helpers share: the choice among the outputs, a record on its way to
// its row, and what the next step will read of the market.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/collect/cuda_resident_memory.cuh"
#include "kernels/collect/cuda_rows.cuh"
#include "kernels/env/step.h"

namespace vixen::kernels::resident {

// Of one episode: advantages of actions lane and lane + 32 (0 beyond 45) from both blocks' parts.
struct LaneAdvantage {
  float first, second;
};
__device__ __forceinline__ LaneAdvantage AdvantageOf(const float* mine, const float* others,
                                                     const float* bias, int lane) {
  LaneAdvantage a = {mine[lane] + others[lane] + bias[lane], 0.0f};
  if (lane < kActions - 32) {
    a.second = mine[lane + 32] + others[lane + 32] + bias[lane + 32];
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

// Q-values of one episode, lane by lane as LaneAdvantage.
struct LaneQ {
  float value;  // V − mean(Adv)
  LaneAdvantage advantage;

  __device__ __forceinline__ LaneQ(LaneAdvantage a, float state_value)
      : value(state_value - WarpSum(a.first + a.second) / static_cast<float>(kActions)),
        advantage(a) {}

  __device__ __forceinline__ float Of(int action) const {
    const float first = __shfl_sync(kAllLanes, advantage.first, action & 31);
    const float second = __shfl_sync(kAllLanes, advantage.second, action & 31);
    return value + (action < 32 ? first : second);
  }
  __device__ __forceinline__ void Write(float* out, bool active, int lane) const {
    out[lane] = active ? value + advantage.first : 0.0f;
    if (lane < kActions - 32) out[lane + 32] = active ? value + advantage.second : 0.0f;
  }
};

// What a row needs but Q and the networks' share, one word a lane: see RowWriter.
struct alignas(16) StagedRecord {
  uint32_t word[16];

  __device__ __forceinline__ int action() const { return word[15] & 0xff; }
  __device__ __forceinline__ uint32_t flags() const { return word[15] >> 8; }
};

__device__ __forceinline__ bool EndsEpisode(uint32_t flags) {
  return (flags & (kFlagTerminated | kFlagTruncated)) != 0;
}

__device__ __forceinline__ void Stage(const StepRecord& record, StagedRecord& staged) {
  uint4* out = reinterpret_cast<uint4*>(staged.word);
  const auto bits = [](float value) { return __float_as_uint(value); };
  out[0] =
      make_uint4(record.bar, record.episode, bits(record.portfolio[0]), bits(record.portfolio[1]));
  out[1] = make_uint4(bits(record.portfolio[2]), bits(record.next_portfolio[0]),
                      bits(record.next_portfolio[1]), bits(record.next_portfolio[2]));
  out[2] =
      make_uint4(bits(record.pnl), bits(record.barrier), bits(record.risk), bits(record.diversity));
  out[3] = make_uint4(bits(record.costs.paid), bits(record.costs.notional), record.costs.fills,
                      record.action | static_cast<uint32_t>(record.flags) << 8);
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

// ChooseAction of a step, the greedy action left open (−1); moves `rng`.
__device__ __forceinline__ Choice DrawChoice(const LaunchArguments& launch, size_t slot,
                                             uint32_t step, uint32_t& rng) {
  const int scripted = launch.scripted != nullptr && step < launch.steps
                           ? launch.scripted[slot * launch.steps + step]
                           : -1;
  return ChooseAction(launch.rules.settings, launch.epsilon, -1, scripted, rng);
}

// ReadBar of a bar that no step may start from, too.
__device__ __forceinline__ StepBar ReadAnyBar(const MarketView& market, uint32_t bar) {
  const float4 target = *reinterpret_cast<const float4*>(market.targets + 4 * size_t{bar});
  return {target.x, target.y, target.z, target.w, IsLastBar(market, min(bar + 1, market.end - 1))};
}

// Columns 4 · chunk … + 3 of a bar's features, zeros beyond them.
__device__ __forceinline__ float4 LoadFeatures(const DeviceMarket& market, uint32_t bar,
                                               uint32_t chunk) {
  if (4 * chunk >= market.stride) return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  return *reinterpret_cast<const float4*>(market.features + size_t{bar} * market.stride +
                                          4 * chunk);
}

// Into the columns of state `which` (goes on, starts anew) of a block's episode.
template <typename Memory>
__device__ __forceinline__ void PutFeatures(Memory& memory, int which, int episode, uint32_t chunk,
                                            float4 features) {
  using F = typename Memory::FormOf;
  const float values[4] = {features.x, features.y, features.z, features.w};
  typename F::Unit words[F::kParts];
  F::Pack(values, words);
#pragma unroll
  for (int part = 0; part < F::kParts; ++part) {
    std::byte* at = memory.state[part][which][episode] + 2 * chunk * F::kPairBytes;
    *reinterpret_cast<typename F::Unit*>(at) = words[part];
  }
}

}  // namespace vixen::kernels::resident
