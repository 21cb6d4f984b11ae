// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_stepped_kernels.h"

#include <cuda_fp16.h>

#include "kernels/collect/cuda_range.h"
#include "kernels/collect/cuda_rows.cuh"
#include "kernels/env/step.h"

namespace vixen::kernels {
namespace {

constexpr int kWarpsPerBlock = 4;
constexpr float kSlope = 0.01f;

template <typename T>
__device__ T Narrow(float value);
template <>
__device__ float Narrow<float>(float value) {
  return value;
}
template <>
__device__ __half Narrow<__half>(float value) {
  // A NaN goes through, so that it is seen in the reward.
  const float clamped = value != value ? value : fminf(fmaxf(value, -kLargestHalf), kLargestHalf);
  return __float2half_rn(clamped);
}
__device__ float Widen(float value) { return value; }
__device__ float Widen(__half value) { return __half2float(value); }

__device__ uint32_t WarpIndex() { return blockIdx.x * kWarpsPerBlock + threadIdx.x / 32; }

// One warp writes features ‖ portfolio, zeros up to `width`.
template <typename T>
__device__ void WriteState(const DeviceMarket& market, uint32_t bar, const float* portfolio,
                           uint32_t width, int lane, T* out) {
  const uint32_t features = market.view.feature_count;
  const float* row = market.features + static_cast<size_t>(bar) * market.stride;
  for (uint32_t j = lane; j < width; j += 32) {
    float value = 0.0f;
    if (j < features) {
      value = row[j];
    } else if (j < features + kPortfolioFeatures) {
      value = portfolio[j - features];
    }
    out[j] = Narrow<T>(value);
  }
}

template <typename T>
__global__ void SlotStatesKernel(const LaunchArguments* arguments, DeviceMarket market,
                                 uint32_t width, T* out) {
  const uint32_t n = WarpIndex();
  if (n >= arguments->episodes) return;
  const SlotState& slot = arguments->slots[n];
  const float price = market.view.targets[4 * static_cast<size_t>(slot.bar)];
  float portfolio[kPortfolioFeatures];
  ObservePortfolio(arguments->rules, slot, price, portfolio);
  WriteState(market, slot.bar, portfolio, width, threadIdx.x % 32,
             out + static_cast<size_t>(n) * width);
}

template <typename T>
__global__ void NextStatesKernel(const LaunchArguments* arguments, DeviceMarket market,
                                 const uint64_t* position, uint32_t rows, uint32_t width, T* out) {
  const uint32_t r = WarpIndex();
  const size_t row = position[1] + r;
  if (r >= rows || row >= static_cast<size_t>(arguments->episodes) * arguments->steps) return;
  WriteState(market, arguments->rows.bar[row] + 1,
             arguments->rows.next_portfolio + row * kPortfolioFeatures, width, threadIdx.x % 32,
             out + static_cast<size_t>(r) * width);
}

template <typename T>
__global__ void CuriosityInputsKernel(const LaunchArguments* arguments, DeviceMarket market,
                                      const uint64_t* position, uint32_t rows, uint32_t embedding,
                                      uint32_t width, T* out) {
  const uint32_t r = WarpIndex();
  const size_t row = position[1] + r;
  if (r >= rows || row >= static_cast<size_t>(arguments->episodes) * arguments->steps) return;
  const BatchView& view = arguments->rows;
  const uint32_t features = market.view.feature_count;
  const float* state = market.features + static_cast<size_t>(view.bar[row]) * market.stride;
  const uint32_t category = CategoryOf(view.action[row]);
  for (uint32_t j = threadIdx.x % 32; j < width; j += 32) {
    float value = 0.0f;
    if (j < embedding) {
      value = j < features ? state[j] : view.portfolio[row * kPortfolioFeatures + j - features];
    } else if (j == embedding + category) {
      value = 1.0f;
    }
    out[static_cast<size_t>(r) * width + j] = Narrow<T>(value);
  }
}

template <typename T>
__global__ void ActivationKernel(const LaunchArguments* arguments, const uint64_t* first_row,
                                 const float* product, const float* bias, uint64_t count,
                                 uint32_t width, T* out) {
  const uint64_t i = 4 * (static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const float4 in = *reinterpret_cast<const float4*>(product + i);
  const float4 b = *reinterpret_cast<const float4*>(bias + i % width);
  const float values[4] = {in.x + b.x, in.y + b.y, in.z + b.z, in.w + b.w};
  unsigned clamped = 0;
#pragma unroll
  for (int u = 0; u < 4; ++u) {
    const float value = values[u] > 0.0f ? values[u] : kSlope * values[u];
    if (sizeof(T) == sizeof(__half) && fabsf(value) > kLargestHalf) ++clamped;
    out[i + u] = Narrow<T>(value);
  }
  if (clamped == 0) return;
  const uint64_t rows = static_cast<uint64_t>(arguments->episodes) * arguments->steps;
  if (first_row != nullptr && *first_row + i / width >= rows) return;
  atomicAdd(arguments->clamped, clamped);
}

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

__device__ void ProbeLinear(const float* parameters, const ProbeLayer& layer, const float* in,
                            bool lrelu, float* out) {
  for (uint32_t j = threadIdx.x; j < layer.outputs; j += blockDim.x) {
    float sum = parameters[layer.bias + j];
    for (uint32_t i = 0; i < layer.inputs; ++i) {
      sum += in[i] * parameters[layer.weight + static_cast<size_t>(j) * layer.inputs + i];
    }
    out[j] = lrelu && !(sum > 0.0f) ? kSlope * sum : sum;
  }
  __syncthreads();
}

// Grid: one block.
__global__ void ProbeKernel(const float* parameters, ProbeNetwork network, const float* state,
                            float* out) {
  __shared__ float first[1024];
  __shared__ float second[1024];
  const ProbeLayer* layers = network.layers;
  if (network.curiosity != 0) {
    const uint32_t embedding = layers[0].inputs - kCategories;
    for (uint32_t j = threadIdx.x; j < layers[0].inputs; j += blockDim.x) {
      first[j] = j < embedding ? state[j] : (j == embedding + 1 ? 1.0f : 0.0f);
    }
    __syncthreads();
    ProbeLinear(parameters, layers[0], first, true, second);
    ProbeLinear(parameters, layers[1], second, false, out);
    return;
  }
  ProbeLinear(parameters, layers[0], state, true, first);
  ProbeLinear(parameters, layers[1], first, true, second);
  ProbeLinear(parameters, layers[2], second, true, first);
  ProbeLinear(parameters, layers[3], first, false, first + 1023);
  ProbeLinear(parameters, layers[4], second, true, first);
  ProbeLinear(parameters, layers[5], first, false, second);
  if (threadIdx.x != 0) return;
  float mean = 0.0f;
  for (int a = 0; a < kActions; ++a) mean += second[a];
  mean /= static_cast<float>(kActions);
  for (int a = 0; a < kActions; ++a) out[a] = first[1023] + second[a] - mean;
}

dim3 WarpGrid(uint32_t warps) { return (warps + kWarpsPerBlock - 1) / kWarpsPerBlock; }
constexpr int kThreads = 32 * kWarpsPerBlock;

}  // namespace

cudaError_t EnqueueSlotStates(const LaunchArguments* arguments, const DeviceMarket& market,
                              uint32_t episodes, uint32_t width, bool half, void* out,
                              cudaStream_t stream) {
  if (half) {
    SlotStatesKernel<<<WarpGrid(episodes), kThreads, 0, stream>>>(arguments, market, width,
                                                                  static_cast<__half*>(out));
  } else {
    SlotStatesKernel<<<WarpGrid(episodes), kThreads, 0, stream>>>(arguments, market, width,
                                                                  static_cast<float*>(out));
  }
  return cudaGetLastError();
}

cudaError_t EnqueueNextStates(const LaunchArguments* arguments, const DeviceMarket& market,
                              const uint64_t* position, uint32_t rows, uint32_t width, bool half,
                              void* out, cudaStream_t stream) {
  if (half) {
    NextStatesKernel<<<WarpGrid(rows), kThreads, 0, stream>>>(arguments, market, position, rows,
                                                              width, static_cast<__half*>(out));
  } else {
    NextStatesKernel<<<WarpGrid(rows), kThreads, 0, stream>>>(arguments, market, position, rows,
                                                              width, static_cast<float*>(out));
  }
  return cudaGetLastError();
}

cudaError_t EnqueueCuriosityInputs(const LaunchArguments* arguments, const DeviceMarket& market,
                                   const uint64_t* position, uint32_t rows, uint32_t embedding,
                                   uint32_t width, bool half, void* out, cudaStream_t stream) {
  if (half) {
    CuriosityInputsKernel<<<WarpGrid(rows), kThreads, 0, stream>>>(
        arguments, market, position, rows, embedding, width, static_cast<__half*>(out));
  } else {
    CuriosityInputsKernel<<<WarpGrid(rows), kThreads, 0, stream>>>(
        arguments, market, position, rows, embedding, width, static_cast<float*>(out));
  }
  return cudaGetLastError();
}

cudaError_t EnqueueActivation(const LaunchArguments* arguments, const uint64_t* first_row,
                              const float* product, const float* bias, uint32_t rows,
                              uint32_t width, bool half, void* out, cudaStream_t stream) {
  const uint64_t count = static_cast<uint64_t>(rows) * width;
  const unsigned blocks = static_cast<unsigned>((count / 4 + 255) / 256);
  if (half) {
    ActivationKernel<<<blocks, 256, 0, stream>>>(arguments, first_row, product, bias, count, width,
                                                 static_cast<__half*>(out));
  } else {
    ActivationKernel<<<blocks, 256, 0, stream>>>(arguments, first_row, product, bias, count, width,
                                                 static_cast<float*>(out));
  }
  return cudaGetLastError();
}

cudaError_t EnqueueRules(const LaunchArguments* arguments, const HeadInputs& head,
                         const uint64_t* position, uint32_t offset, uint32_t episodes, bool half,
                         cudaStream_t stream) {
  const auto kernel = half ? RulesKernel<__half> : RulesKernel<float>;
  kernel<<<WarpGrid(episodes), kThreads, 0, stream>>>(arguments, head, position, offset);
  return cudaGetLastError();
}

cudaError_t EnqueueChoice(const LaunchArguments* arguments, const HeadInputs& head, uint32_t rows,
                          bool half, uint8_t* choice, cudaStream_t stream) {
  const auto kernel = half ? ChoiceKernel<__half> : ChoiceKernel<float>;
  kernel<<<WarpGrid(rows), kThreads, 0, stream>>>(arguments, head, rows, choice);
  return cudaGetLastError();
}

cudaError_t EnqueueFinish(const LaunchArguments* arguments, const DeviceMarket& market,
                          const HeadInputs& head, const uint64_t* position, const uint8_t* choice,
                          const float* curiosity_out, const float* curiosity_bias,
                          uint32_t embedding, uint32_t rows, bool half, cudaStream_t stream) {
  const auto kernel = half ? FinishKernel<__half> : FinishKernel<float>;
  kernel<<<WarpGrid(rows), kThreads, 0, stream>>>(arguments, market, head, position, choice,
                                                  curiosity_out, curiosity_bias, embedding, rows);
  return cudaGetLastError();
}

cudaError_t EnqueueAdvance(uint64_t* position, int index, uint64_t amount, cudaStream_t stream) {
  AdvanceKernel<<<1, 1, 0, stream>>>(position, index, amount);
  return cudaGetLastError();
}

cudaError_t EnqueueProbe(const float* parameters, const ProbeNetwork& network, const float* state,
                         float* out, cudaStream_t stream) {
  ProbeKernel<<<1, 256, 0, stream>>>(parameters, network, state, out);
  return cudaGetLastError();
}

}  // namespace vixen::kernels
