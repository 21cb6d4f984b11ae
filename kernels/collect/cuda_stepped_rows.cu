// SPDX-License-Identifier: Apache-2.0
// What follows the products of a stepped launch: choice, rules, reward and TD error.
#include <cuda_fp16.h>

#include "kernels/collect/cuda_rows.cuh"
#include "kernels/collect/cuda_stepped_kernels.h"
#include "kernels/collect/cuda_warp_grid.cuh"
#include "kernels/env/step.h"

namespace vixen::kernels {
namespace {

__device__ float Widen(float value) { return value; }
__device__ float Widen(__half value) { return __half2float(value); }

// Q-values of one row: lane l holds actions l and l + 32.
struct LaneQ {
  float first, second;
};

template <typename T>
__device__ LaneQ RowQ(const HeadInputs& head, size_t row, int lane) {
  const T* streams = static_cast<const T*>(head.streams) + row * head.streams_width;
  float value = 0.0f;
  for (uint32_t j = lane; j < head.value_hidden; j += 32) {
    value += Widen(streams[j]) * head.value_weights[j];
  }
  value = WarpSum(value) + head.value_bias[0];
  const float* advantage = head.advantage + row * 48;
  const bool has_second = lane + 32 < kActions;
  const float first = advantage[lane] + head.advantage_bias[lane];
  const float second = has_second ? advantage[lane + 32] + head.advantage_bias[lane + 32] : 0.0f;
  const float mean = WarpSum(first + second) / static_cast<float>(kActions);
  return {value + first - mean, value + second - mean};
}

// GreedyAction over the lanes: the lowest index of the largest.
__device__ int WarpGreedy(uint64_t mask, LaneQ q, int lane) {
  constexpr int64_t kNone = -(1ll << 62);
  // Larger order first, then the smaller index.
  int64_t best = kNone;
  if (mask >> lane & 1) best = (static_cast<int64_t>(OrderOf(q.first)) << 8) | (255 - lane);
  if (mask >> (lane + 32) & 1) {
    const int64_t other = (static_cast<int64_t>(OrderOf(q.second)) << 8) | (255 - lane - 32);
    best = other > best ? other : best;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    const int64_t other = __shfl_xor_sync(kAllLanes, best, offset);
    best = other > best ? other : best;
  }
  return 255 - static_cast<int>(best & 255);
}

__device__ float QOf(LaneQ q, int action) {
  const float first = __shfl_sync(kAllLanes, q.first, action & 31);
  const float second = __shfl_sync(kAllLanes, q.second, action & 31);
  return action < 32 ? first : second;
}

template <typename T>
__global__ void RulesKernel(const LaunchArguments* arguments, HeadInputs head,
                            const uint64_t* position, uint32_t offset) {
  const LaunchArguments& launch = *arguments;
  const uint32_t n = WarpIndex();
  if (n >= launch.episodes) return;
  const int lane = threadIdx.x % 32;
  const uint32_t step = static_cast<uint32_t>(position[0]) + offset;
  const size_t row = static_cast<size_t>(n) * launch.steps + step;
  const EnvSettings& settings = launch.rules.settings;
  SlotState& slot = launch.slots[n];
  const bool active = slot.active != 0;
  const LaneQ q = RowQ<T>(head, n, lane);
  if (launch.rows.q != nullptr) {
    float* out = launch.rows.q + row * kActions;
    out[lane] = active ? q.first : 0.0f;
    if (lane + 32 < kActions) out[lane + 32] = active ? q.second : 0.0f;
  }
  const int greedy = WarpGreedy(launch.allowed, q, lane);
  Choice choice;
  if (lane == 0 && active) {
    const int scripted = launch.scripted != nullptr ? launch.scripted[row] : -1;
    choice = ChooseAction(settings, launch.epsilon, greedy, scripted, slot.rng);
  }
  const float taken = QOf(q, __shfl_sync(kAllLanes, choice.action, 0));
  if (lane != 0) return;
  StepRecord record;
  if (active) record = StepSlot(launch.rules, launch.market.view, choice, step, slot);
  WriteRecord(launch, row, record, taken);
}

template <typename T>
__global__ void ChoiceKernel(const LaunchArguments* arguments, HeadInputs head, uint32_t rows,
                             uint8_t* choice) {
  const uint32_t r = WarpIndex();
  if (r >= rows) return;
  const int lane = threadIdx.x % 32;
  const int greedy = WarpGreedy(arguments->allowed, RowQ<T>(head, r, lane), lane);
  if (lane == 0) choice[r] = static_cast<uint8_t>(greedy);
}

template <typename T>
__global__ void FinishKernel(const LaunchArguments* arguments, DeviceMarket market, HeadInputs head,
                             const uint64_t* position, const uint8_t* choice,
                             const float* curiosity_out, const float* curiosity_bias,
                             uint32_t embedding, uint32_t rows) {
  const LaunchArguments& launch = *arguments;
  const uint32_t r = WarpIndex();
  const size_t row = position[1] + r;
  if (r >= rows || row >= static_cast<size_t>(launch.episodes) * launch.steps) return;
  const int lane = threadIdx.x % 32;
  const LaneQ q = RowQ<T>(head, r, lane);
  const int action = choice != nullptr ? choice[r] : WarpGreedy(launch.allowed, q, lane);
  const float next_q = QOf(q, action);
  float error = 0.0f;
  if (curiosity_out != nullptr) {
    if (lane < embedding) {
      const uint32_t features = market.view.feature_count;
      const size_t next = static_cast<size_t>(launch.rows.bar[row] + 1) * market.stride;
      const float seen =
          lane < features ? market.features[next + lane]
                          : launch.rows.next_portfolio[row * kPortfolioFeatures + lane - features];
      const float difference =
          curiosity_out[static_cast<size_t>(r) * 32 + lane] + curiosity_bias[lane] - seen;
      error = difference * difference;
    }
    error = WarpSum(error) / static_cast<float>(embedding);
  }
  if (lane == 0) {
    FinishRow(launch, row, launch.rows.flags[row], launch.scratch[row], next_q, error,
              curiosity_out != nullptr);
  }
}

__global__ void AdvanceKernel(uint64_t* position, int index, uint64_t amount) {
  position[index] = amount == 0 ? 0 : position[index] + amount;
}

}  // namespace

cudaError_t EnqueueRules(const LaunchArguments* arguments, const HeadInputs& head,
                         const uint64_t* position, uint32_t offset, uint32_t episodes, bool half,
                         cudaStream_t stream) {
  const auto kernel = half ? RulesKernel<__half> : RulesKernel<float>;
  kernel<<<WarpGrid(episodes), kWarpThreads, 0, stream>>>(arguments, head, position, offset);
  return cudaGetLastError();
}

cudaError_t EnqueueChoice(const LaunchArguments* arguments, const HeadInputs& head, uint32_t rows,
                          bool half, uint8_t* choice, cudaStream_t stream) {
  const auto kernel = half ? ChoiceKernel<__half> : ChoiceKernel<float>;
  kernel<<<WarpGrid(rows), kWarpThreads, 0, stream>>>(arguments, head, rows, choice);
  return cudaGetLastError();
}

cudaError_t EnqueueFinish(const LaunchArguments* arguments, const DeviceMarket& market,
                          const HeadInputs& head, const uint64_t* position, const uint8_t* choice,
                          const float* curiosity_out, const float* curiosity_bias,
                          uint32_t embedding, uint32_t rows, bool half, cudaStream_t stream) {
  const auto kernel = half ? FinishKernel<__half> : FinishKernel<float>;
  kernel<<<WarpGrid(rows), kWarpThreads, 0, stream>>>(
      arguments, market, head, position, choice, curiosity_out, curiosity_bias, embedding, rows);
  return cudaGetLastError();
}

cudaError_t EnqueueAdvance(uint64_t* position, int index, uint64_t amount, cudaStream_t stream) {
  AdvanceKernel<<<1, 1, 0, stream>>>(position, index, amount);
  return cudaGetLastError();
}

}  // namespace vixen::kernels
