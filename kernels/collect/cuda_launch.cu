// SPDX-License-Identifier: Apache-2.0
#include <cuda_fp16.h>

#include "kernels/collect/cuda_launch.h"
#include "kernels/collect/cuda_rows.cuh"
#include "kernels/collect/cuda_tile_layout.h"
#include "kernels/env/step.h"

namespace vixen::kernels {
namespace {

constexpr unsigned long long kNoBadRow = ~0ull;
// Fixed, so that the order of the sums depends on N and L only.
constexpr uint32_t kMostRowWarps = 2112;
constexpr uint32_t kMostEpisodeWarps = 2048;
constexpr uint32_t kRowsPerPiece = 128;
constexpr uint32_t kWarpsPerBlock = 4;

__host__ __device__ uint32_t RowWarps(uint32_t episodes, uint32_t steps) {
  const uint64_t rows = static_cast<uint64_t>(episodes) * steps;
  const uint64_t pieces = (rows + kRowsPerPiece - 1) / kRowsPerPiece;
  return pieces < kMostRowWarps ? static_cast<uint32_t>(pieces) : kMostRowWarps;
}
__host__ __device__ uint32_t EpisodeWarps(uint32_t episodes) {
  return episodes < kMostEpisodeWarps ? episodes : kMostEpisodeWarps;
}

// Grid: one thread a slot.
__global__ void StartSlotsKernel(const LaunchArguments* arguments) {
  const LaunchArguments& launch = *arguments;
  const uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n == 0) {
    *launch.bad_row = kNoBadRow;
    *launch.clamped = 0;
  }
  if (n >= launch.episodes) return;
  if (launch.keep_slots == 0) {
    const SlotSeed seed = SeedOfSlot(launch.seed, launch.launch, n);
    const uint32_t rng = launch.rng != nullptr ? launch.rng[n] : seed.rng;
    const uint32_t start =
        launch.starts != nullptr ? launch.starts[n] : StartBar(launch.market.view, seed.start_draw);
    launch.slots[n] = FreshSlot(launch.rules, rng, start, 0);
  }
  if (launch.start_slots != nullptr) launch.start_slots[n] = launch.slots[n];
}

// Sums of one lane, then of one warp.
struct Sums {
  double term[kRewardTerms] = {};
  double term_squares[kRewardTerms] = {};
  double td = 0;
  double td_max = 0;
  double notional = 0;
  double costs = 0;
  uint32_t counts[kExposures + 4 + 5] = {};  // classes, barrier results, valid, explored, …
};
constexpr int kResult = kExposures;
constexpr int kValid = kExposures + 4;
constexpr int kExplored = kValid + 1;
constexpr int kTerminated = kValid + 2;
constexpr int kTruncated = kValid + 3;
constexpr int kFills = kValid + 4;

__device__ double WarpSum(double value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, offset);
  }
  return value;
}

__device__ uint32_t WarpSum(uint32_t value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, offset);
  }
  return value;
}

__device__ void AddRow(const LaunchArguments& launch, size_t row, uint8_t flags, float td,
                       Sums& sums) {
  const float4* scratch = reinterpret_cast<const float4*>(launch.scratch + row);
  const float4 terms = scratch[0];
  const float4 rest = scratch[1];
  const double values[kRewardTerms] = {terms.x, terms.y, terms.z, terms.w, launch.curiosity[row]};
#pragma unroll
  for (int i = 0; i < kRewardTerms; ++i) {
    sums.term[i] += values[i];
    sums.term_squares[i] += values[i] * values[i];
  }
  sums.td += td;
  sums.td_max = fmax(sums.td_max, static_cast<double>(td));
  sums.costs += rest.y;
  sums.notional += rest.z;
  const int exposure_class = launch.rows.action[row] / kStyles;
  const int result = static_cast<int>(BarrierOf(flags));
#pragma unroll
  for (int i = 0; i < kExposures; ++i) sums.counts[i] += exposure_class == i;
#pragma unroll
  for (int i = 0; i < 4; ++i) sums.counts[kResult + i] += result == i;
  sums.counts[kValid] += 1;
  sums.counts[kExplored] += (flags & kFlagExplored) != 0;
  sums.counts[kTerminated] += (flags & kFlagTerminated) != 0;
  sums.counts[kTruncated] += (flags & kFlagTruncated) != 0;
  sums.counts[kFills] += __float_as_uint(rest.w);
}

// A warp adds the rows of its pieces, each lane its own.
__device__ void SumRows(const LaunchArguments& launch, uint32_t warp, uint32_t warps, int lane,
                        LaunchStatistics& total) {
  Sums sums;
  unsigned long long bad_row = kNoBadRow;
  const size_t rows = static_cast<size_t>(launch.episodes) * launch.steps;
  for (size_t first = static_cast<size_t>(warp) * kRowsPerPiece; first < rows;
       first += static_cast<size_t>(warps) * kRowsPerPiece) {
#pragma unroll
    for (uint32_t i = 0; i < kRowsPerPiece; i += 32) {
      const size_t row = first + i + lane;
      if (row >= rows) continue;
      const uint8_t flags = launch.rows.flags[row];
      if ((flags & kFlagValid) == 0) continue;
      const float td = launch.rows.td[row];
      AddRow(launch, row, flags, td, sums);
      if (!isfinite(launch.rows.reward[row]) || !isfinite(td)) {
        bad_row = row < bad_row ? row : bad_row;
      }
    }
  }
  if (bad_row != kNoBadRow) atomicMin(launch.bad_row, bad_row);
  for (int i = 0; i < kRewardTerms; ++i) {
    total.term_sum[i] = WarpSum(sums.term[i]);
    total.term_sum_squares[i] = WarpSum(sums.term_squares[i]);
  }
  uint32_t counts[kFills + 1];
  for (int i = 0; i <= kFills; ++i) counts[i] = WarpSum(sums.counts[i]);
  for (int i = 0; i < kExposures; ++i) total.exposure_class[i] = counts[i];
  for (int i = 0; i < 4; ++i) total.barrier_result[i] = counts[kResult + i];
  total.valid_rows = counts[kValid];
  total.explored = counts[kExplored];
  total.terminated = counts[kTerminated];
  total.truncated = counts[kTruncated];
  total.trades = counts[kFills];
  const double capital = launch.rules.settings.initial_capital;
  total.traded_notional = WarpSum(sums.notional) / capital;
  total.costs = WarpSum(sums.costs) / capital;
  total.td_sum = WarpSum(sums.td);
  double most = sums.td_max;
  for (int offset = 16; offset > 0; offset /= 2) {
    most = fmax(most, __shfl_xor_sync(kAllLanes, most, offset));
  }
  total.td_max = most;
}

// A warp walks whole slots, 32 rows at a time; the episodes' running reward is added row by row by
// all lanes alike, in float32 and step order as on the CPU.
__device__ void ScanSlot(const LaunchArguments& launch, uint32_t slot, int lane,
                         LaunchStatistics& total) {
  const SlotState* starts = launch.start_slots;
  float reward_sum = starts != nullptr ? starts[slot].episode_reward : 0.0f;
  uint64_t length = starts != nullptr ? starts[slot].step : 0;
  const size_t first = static_cast<size_t>(slot) * launch.steps;
  // The next 32 rows are on their way while these are added.
  const auto load = [&](uint32_t step, uint8_t& flags, float& reward, float& gain) {
    flags = 0;
    reward = gain = 0.0f;
    if (step >= launch.steps) return;
    flags = launch.rows.flags[first + step];
    reward = launch.rows.reward[first + step];
    gain = launch.rows.next_portfolio[(first + step) * kPortfolioFeatures];
  };
  uint8_t flags;
  float reward, net_return;
  load(lane, flags, reward, net_return);
  for (uint32_t base = 0; base < launch.steps; base += 32) {
    uint8_t next_flags;
    float next_reward, next_return;
    load(base + 32 + lane, next_flags, next_reward, next_return);
    const unsigned valid = __ballot_sync(kAllLanes, (flags & kFlagValid) != 0);
    const unsigned ended =
        __ballot_sync(kAllLanes, (flags & (kFlagTerminated | kFlagTruncated)) != 0);
#pragma unroll 8
    for (int i = 0; i < 32; ++i) {
      const float row_reward = __shfl_sync(kAllLanes, reward, i);
      if ((valid >> i & 1) == 0) continue;
      reward_sum += row_reward;
      length += 1;
      if ((ended >> i & 1) == 0) continue;
      const double sum = reward_sum;
      const double gain = static_cast<double>(__shfl_sync(kAllLanes, net_return, i)) - 1.0;
      total.episode_reward_sum += sum;
      total.episode_reward_sum_squares += sum * sum;
      total.episode_return_sum += gain;
      total.episode_return_sum_squares += gain * gain;
      total.episodes_ended += 1;
      total.episode_length_sum += length;
      reward_sum = 0.0f;
      length = 0;
    }
    flags = next_flags;
    reward = next_reward;
    net_return = next_return;
  }
  if (lane == 0) launch.slots[slot].episode_reward = reward_sum;
}

// Grid: RowWarps + EpisodeWarps warps; each writes its partial sums.
__global__ void PartialStatisticsKernel(const LaunchArguments* arguments,
                                        LaunchStatistics* partials) {
  const LaunchArguments& launch = *arguments;
  const int lane = threadIdx.x % 32;
  const uint32_t warp = blockIdx.x * kWarpsPerBlock + threadIdx.x / 32;
  const uint32_t row_warps = RowWarps(launch.episodes, launch.steps);
  const uint32_t episode_warps = EpisodeWarps(launch.episodes);
  if (warp >= row_warps + episode_warps) return;
  LaunchStatistics total;
  // The scans are the longer chains: they come first.
  if (warp < episode_warps) {
    for (uint32_t slot = warp; slot < launch.episodes; slot += episode_warps) {
      ScanSlot(launch, slot, lane, total);
    }
  } else {
    SumRows(launch, warp - episode_warps, row_warps, lane, total);
  }
  if (lane == 0) partials[warp] = total;
}

// Every member of LaunchStatistics is 8 bytes wide: a double or a count.
constexpr int kFields = sizeof(LaunchStatistics) / 8;
constexpr int kClampedField = offsetof(LaunchStatistics, clamped_activations) / 8;
constexpr int kLanesPerField = 28;
__device__ bool IsCount(int field) {
  constexpr int kFirst = offsetof(LaunchStatistics, valid_rows) / 8;
  constexpr int kLast = offsetof(LaunchStatistics, episodes_ended) / 8;
  return (field >= kFirst && field <= kLast) ||
         field == offsetof(LaunchStatistics, episode_length_sum) / 8 ||
         field == offsetof(LaunchStatistics, trades) / 8 || field == kClampedField;
}

// One block; kLanesPerField threads a member add strided shares, then the shares in order.
__global__ void TotalStatisticsKernel(const LaunchArguments* arguments,
                                      const LaunchStatistics* partials) {
  __shared__ uint64_t shares[kFields][kLanesPerField];
  const int field = threadIdx.x / kLanesPerField;
  const int share = threadIdx.x % kLanesPerField;
  const uint32_t warps =
      RowWarps(arguments->episodes, arguments->steps) + EpisodeWarps(arguments->episodes);
  const bool is_max = field == offsetof(LaunchStatistics, td_max) / 8;
  if (field < kFields) {
    const uint64_t* words = reinterpret_cast<const uint64_t*>(partials);
    if (IsCount(field)) {
      uint64_t sum = 0;
      for (uint32_t w = share; w < warps; w += kLanesPerField) sum += words[w * kFields + field];
      shares[field][share] = sum;
    } else {
      double sum = 0;
      for (uint32_t w = share; w < warps; w += kLanesPerField) {
        const double value = __longlong_as_double(words[w * kFields + field]);
        sum = is_max ? fmax(sum, value) : sum + value;
      }
      shares[field][share] = __double_as_longlong(sum);
    }
  }
  __syncthreads();
  if (field >= kFields || share != 0) return;
  uint64_t* out = reinterpret_cast<uint64_t*>(arguments->statistics) + field;
  if (IsCount(field)) {
    uint64_t sum = 0;
    for (int i = 0; i < kLanesPerField; ++i) sum += shares[field][i];
    *out = field == kClampedField ? *arguments->clamped : sum;
  } else {
    double sum = 0;
    for (int i = 0; i < kLanesPerField; ++i) {
      const double value = __longlong_as_double(shares[field][i]);
      sum = is_max ? fmax(sum, value) : sum + value;
    }
    *out = __double_as_longlong(sum);
  }
}

// Grid: one thread an element of the wider of the two layouts, grid-stride.
__global__ void LayOutFeaturesKernel(const float* features, uint64_t rows, uint32_t width,
                                     uint32_t stride, float* out, uint16_t* packed) {
  const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  const uint64_t first = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (uint64_t i = first; i < rows * stride; i += step) {
    const uint64_t row = i / stride;
    const uint32_t j = i % stride;
    out[i] = j < width ? features[row * width + j] : 0.0f;
  }
  if (packed == nullptr) return;
  for (uint64_t i = first; i < rows * 64; i += step) {
    const uint64_t row = i / 64;
    const uint32_t j = i % 64;
    const float value =
        j < width ? fminf(fmaxf(features[row * width + j], -65504.0f), 65504.0f) : 0.0f;
    const bool is_one =
        width <= tile::kMostFeatures && j >= tile::kOneColumn && j < tile::kPortfolioColumn;
    packed[i] = __half_as_ushort(__float2half_rn(is_one ? 1.0f : value));
  }
}

}  // namespace

cudaError_t EnqueueStart(const LaunchArguments* arguments, uint32_t episodes, cudaStream_t stream) {
  StartSlotsKernel<<<(episodes + 31) / 32, 32, 0, stream>>>(arguments);
  return cudaGetLastError();
}

size_t StatisticsWorkspaceBytes() {
  return (kMostRowWarps + kMostEpisodeWarps) * sizeof(LaunchStatistics);
}

cudaError_t EnqueueStatistics(const LaunchArguments* arguments, uint32_t episodes, uint32_t steps,
                              void* workspace, cudaStream_t stream) {
  const uint32_t warps = RowWarps(episodes, steps) + EpisodeWarps(episodes);
  auto* partials = static_cast<LaunchStatistics*>(workspace);
  PartialStatisticsKernel<<<(warps + kWarpsPerBlock - 1) / kWarpsPerBlock, 32 * kWarpsPerBlock, 0,
                            stream>>>(arguments, partials);
  TotalStatisticsKernel<<<1, kFields * kLanesPerField, 0, stream>>>(arguments, partials);
  return cudaGetLastError();
}

cudaError_t EnqueueLayOutFeatures(const float* features, uint64_t rows, uint32_t width,
                                  uint32_t stride, float* out, uint16_t* packed,
                                  cudaStream_t stream) {
  LayOutFeaturesKernel<<<4096, 256, 0, stream>>>(features, rows, width, stride, out, packed);
  return cudaGetLastError();
}

}  // namespace vixen::kernels
