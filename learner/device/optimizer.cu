// SPDX-License-Identifier: Apache-2.0
// From the parts of the gradient to new weights: two kernels, as the global norm lies between.
#include <cuda_runtime.h>

#include "learner/device/network_kernels.h"
#include "learner/device/operand.cuh"

namespace vixen::learner {
namespace {

constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
constexpr int kThreads = 256;

// Whether the head has such a parameter: its value row reads the value stream's columns alone, its
// advantage rows the others.
__device__ __forceinline__ bool IsReal(const DeviceNetwork& network, uint32_t index) {
  const DeviceLayer& head = network.layers[DeviceNetwork::kLayers - 1];
  if (index < head.weight || index >= head.bias) return true;
  const uint32_t row = (index - head.weight) / head.inputs;
  const uint32_t column = (index - head.weight) % head.inputs;
  return row == 0 ? column < network.value_hidden : column >= network.value_hidden;
}

// Of all threads' values, in an order that does not depend on timing; valid in thread 0.
__device__ __forceinline__ double BlockSum(double value) {
  __shared__ double sums[kThreads / 32];
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x < kThreads / 32 ? sums[threadIdx.x] : 0.0;
  if (threadIdx.x < 32) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
  }
  __syncthreads();
  return value;
}

// What the last block's warps add up, one each.
enum Total : uint32_t { kSquares, kLoss, kAbsTd, kQ, kMaxQ, kClipped, kWeight, kWeightSquares };

__device__ __forceinline__ double PartOf(const LossPart& part, uint32_t total) {
  switch (total) {
    case kLoss:
      return part.loss;
    case kAbsTd:
      return part.abs_td;
    case kQ:
      return part.q;
    case kMaxQ:
      return part.max_q;
    case kClipped:
      return part.clipped;
    case kWeight:
      return part.weight;
    default:
      return part.weight_squares;
  }
}

// What a reduction adds up.
enum class Part : uint8_t {
  kAlone,  // this learner's parts: the gradient
  kOwn,    // this rank's parts: what it says to the others
  kJoint,  // what the ranks' sum says
};

// The last block: norm, statistics, whether the step is made, and its scalars.
template <Part kPart>
__device__ __forceinline__ void Decide(const DeviceNetwork& network, const UpdateSettings& settings,
                                       const UpdateBuffers& buffers, uint32_t loss_blocks,
                                       uint32_t index, float share) {
  __shared__ double totals[kThreads / 32];
  __shared__ bool lost;
  if (threadIdx.x == 0) {
    // From over the bus, so before all else.
    lost = kPart == Part::kJoint && *static_cast<const volatile uint32_t*>(buffers.lost) != 0;
  }
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32_t count = warp == kSquares ? gridDim.x : loss_blocks;
  double total = warp == kMaxQ ? -INFINITY : 0.0;
  for (uint32_t i = lane; i < count; i += 32) {
    const double other =
        warp == kSquares ? __ldcg(buffers.norm_part + i) : PartOf(buffers.loss_part[i], warp);
    total = warp == kMaxQ ? (other > total ? other : total) : total + other;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    const double other = __shfl_down_sync(~0u, total, offset);
    total = warp == kMaxQ ? (other > total ? other : total) : total + other;
  }
  if (lane == 0) totals[warp] = total;
  UpdateControl& control = *buffers.control;
  if (threadIdx.x == 32) {
    const auto steps = static_cast<double>(control.steps + index + 1);
    buffers.step->size = static_cast<float>(settings.learning_rate / (1.0 - pow(kBeta1, steps)));
    buffers.step->root_correction = static_cast<float>(sqrt(1.0 - pow(kBeta2, steps)));
  }
  __syncthreads();
  if (threadIdx.x != 0) return;

  const double rows = settings.batch, norm = sqrt(totals[kSquares]);
  DeviceStatistics& statistics = buffers.statistics[index];
  *buffers.done_blocks = 0;
  if constexpr (kPart == Part::kJoint) {
    const float* figures = buffers.partial + network.parameters;
    statistics.loss = figures[kMeanLoss] * share;
    statistics.mean_abs_td = figures[kMeanAbsTd] * share;
    statistics.mean_q = figures[kMeanQ] * share;
    statistics.clipped_rows = figures[kClippedShare] * share;
  } else {
    statistics.loss = totals[kLoss] / rows;
    statistics.mean_abs_td = totals[kAbsTd] / rows;
    statistics.mean_q = totals[kQ] / (rows * settings.action_count);
    statistics.clipped_rows = totals[kClipped] / rows;
    statistics.max_q = totals[kMaxQ];
    statistics.weight_sum = totals[kWeight];
    statistics.weight_squares = totals[kWeightSquares];
    statistics.own_loss = statistics.loss;
  }
  if constexpr (kPart == Part::kOwn) {
    float* figures = buffers.gradient + network.parameters;
    figures[kMeanLoss] = static_cast<float>(statistics.loss);
    figures[kMeanAbsTd] = static_cast<float>(statistics.mean_abs_td);
    figures[kMeanQ] = static_cast<float>(statistics.mean_q);
    figures[kClippedShare] = static_cast<float>(statistics.clipped_rows);
    return;
  }
  statistics.gradient_norm = norm;
  if (control.failed == 0 && (lost || !(isfinite(statistics.loss) && isfinite(norm)))) {
    control.failed = index + 1;
  }
  float scale = settings.ascent ? -1.0f : 1.0f;
  if (settings.max_gradient_norm > 0 && norm > settings.max_gradient_norm) {
    scale *= static_cast<float>(settings.max_gradient_norm / norm);
  }
  buffers.step->scale = control.failed == 0 ? scale : NAN;
}

struct Splits {
  uint32_t of[DeviceNetwork::kLayers];
};

__device__ __forceinline__ uint32_t SplitsOf(const DeviceNetwork& network, const Splits& splits,
                                             uint32_t index) {
  uint32_t layer = 0;
  while (layer + 1 < DeviceNetwork::kLayers && index >= network.layers[layer + 1].weight) ++layer;
  return splits.of[layer];
}

// Four parameters a thread, of one layer. `share`: what the joint sum is multiplied by.
template <Part kPart>
__global__ void __launch_bounds__(kThreads)
    Reduce(DeviceNetwork network, UpdateSettings settings, UpdateBuffers buffers, Splits splits,
           uint32_t loss_blocks, uint32_t index, float share) {
  const uint32_t first = (blockIdx.x * kThreads + threadIdx.x) * 4;
  double squares = 0.0;
  if (first < network.parameters) {
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const uint32_t parts = SplitsOf(network, splits, first);
#pragma unroll 8
    for (uint32_t s = 0; s < parts; ++s) {
      const float4 part = __ldcg(reinterpret_cast<const float4*>(
          buffers.partial + size_t{s} * network.parameters + first));
      sum.x += part.x;
      sum.y += part.y;
      sum.z += part.z;
      sum.w += part.w;
    }
    if constexpr (kPart == Part::kJoint) {
      sum.x *= share;
      sum.y *= share;
      sum.z *= share;
      sum.w *= share;
    }
    if (!IsReal(network, first)) sum.x = 0.0f;
    if (!IsReal(network, first + 1)) sum.y = 0.0f;
    if (!IsReal(network, first + 2)) sum.z = 0.0f;
    if (!IsReal(network, first + 3)) sum.w = 0.0f;
    *reinterpret_cast<float4*>(buffers.gradient + first) = sum;
    squares = static_cast<double>(sum.x) * sum.x + static_cast<double>(sum.y) * sum.y +
              static_cast<double>(sum.z) * sum.z + static_cast<double>(sum.w) * sum.w;
  }
  squares = BlockSum(squares);
  __shared__ bool last;
  if (threadIdx.x == 0) {
    buffers.norm_part[blockIdx.x] = squares;
    __threadfence();
    last = atomicAdd(buffers.done_blocks, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  Decide<kPart>(network, settings, buffers, loss_blocks, index, share);
}

// Where a parameter stands in the operand images; nowhere when it is a bias.
template <typename Type, typename Store>
__device__ __forceinline__ void InImages(const DeviceNetwork& network, uint32_t index,
                                         Store&& store) {
  for (const DeviceLayer& layer : network.layers) {
    if (index < layer.weight || index >= layer.bias) continue;
    const uint32_t output = (index - layer.weight) / layer.inputs;
    const uint32_t input = (index - layer.weight) % layer.inputs;
    store(layer.image + ImageIndex<Type>(output, input, layer.inputs),
          layer.image + ImageIndex<Type>(input, output, layer.outputs));
  }
}

template <DevicePrecision kPrecision>
__device__ __forceinline__ void StoreImages(const DeviceNetwork& network,
                                            const UpdateBuffers& buffers, uint32_t index,
                                            float online, float target, bool target_changed) {
  using Type = typename Operand<kPrecision>::Type;
  InImages<Type>(network, index, [&](uint32_t forward, uint32_t transposed) {
    const Type rounded = Operand<kPrecision>::Round(online);
    static_cast<Type*>(buffers.online_image)[forward] = rounded;
    static_cast<Type*>(buffers.online_transposed)[transposed] = rounded;
    if (target_changed) {
      static_cast<Type*>(buffers.target_image)[forward] = Operand<kPrecision>::Round(target);
    }
  });
}

// A parameter a thread.
template <DevicePrecision kPrecision>
__global__ void __launch_bounds__(kThreads)
    Step(DeviceNetwork network, UpdateSettings settings, UpdateBuffers buffers, uint32_t index) {
  const StepScalars step = *buffers.step;
  if (isnan(step.scale)) return;
  const uint64_t updates = buffers.control->updates + index + 1;
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= network.parameters) return;
  const float gradient = step.scale * buffers.gradient[i];
  float weight = buffers.online[i];
  if (settings.weight_decay > 0) {
    weight -= static_cast<float>(settings.learning_rate * settings.weight_decay) * weight;
  }
  float first = buffers.first[i], second = buffers.second[i];
  first = fmaf(static_cast<float>(1.0 - kBeta1), gradient - first, first);
  second = fmaf(static_cast<float>(kBeta2), second,
                static_cast<float>(1.0 - kBeta2) * gradient * gradient);
  const float denominator =
      sqrtf(second) / step.root_correction + static_cast<float>(settings.adam_epsilon);
  weight -= step.size * first / denominator;
  buffers.first[i] = first;
  buffers.second[i] = second;
  buffers.online[i] = weight;

  float target = buffers.target[i];
  bool changed = !settings.frozen_target;
  if (settings.target_period == 0) {
    target = fmaf(static_cast<float>(settings.polyak_tau), weight - target, target);
  } else if (updates % settings.target_period == 0) {
    target = weight;
  } else {
    changed = false;
  }
  if (changed) buffers.target[i] = target;
  StoreImages<kPrecision>(network, buffers, i, weight, target, changed);
}

template <DevicePrecision kPrecision>
__global__ void __launch_bounds__(kThreads) Images(DeviceNetwork network, UpdateBuffers buffers) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= network.parameters) return;
  StoreImages<kPrecision>(network, buffers, i, buffers.online[i], buffers.target[i], true);
}

Splits SplitsOf(const PassShape& shape, const UpdateSettings& settings) {
  Splits splits;
  for (uint32_t l = 0; l < DeviceNetwork::kLayers; ++l) {
    splits.of[l] = shape.splits_of(l, settings.rows);
  }
  return splits;
}

uint32_t Blocks(uint32_t threads) { return (threads + kThreads - 1) / kThreads; }

}  // namespace

uint32_t ReduceBlocks(const DeviceNetwork& network) { return Blocks(network.parameters / 4); }

cudaError_t LaunchReduce(const DeviceNetwork& network, const PassShape& shape,
                         const UpdateSettings& settings, const UpdateBuffers& buffers,
                         uint32_t index, cudaStream_t stream) {
  Reduce<Part::kAlone><<<ReduceBlocks(network), kThreads, 0, stream>>>(
      network, settings, buffers, SplitsOf(shape, settings), shape.backward_blocks(settings.rows),
      index, 1.0f);
  return cudaGetLastError();
}

cudaError_t LaunchReduceOwn(const DeviceNetwork& network, const PassShape& shape,
                            const UpdateSettings& settings, const UpdateBuffers& buffers,
                            uint32_t index, cudaStream_t stream) {
  Reduce<Part::kOwn><<<ReduceBlocks(network), kThreads, 0, stream>>>(
      network, settings, buffers, SplitsOf(shape, settings), shape.backward_blocks(settings.rows),
      index, 1.0f);
  return cudaGetLastError();
}

cudaError_t LaunchReduceJoint(const DeviceNetwork& network, const UpdateSettings& settings,
                              const UpdateBuffers& buffers, uint32_t index, float share,
                              cudaStream_t stream) {
  Splits one;
  for (uint32_t& splits : one.of) splits = 1;
  Reduce<Part::kJoint><<<ReduceBlocks(network), kThreads, 0, stream>>>(network, settings, buffers,
                                                                       one, 0, index, share);
  return cudaGetLastError();
}

cudaError_t LaunchStep(const DeviceNetwork& network, const PassShape& shape,
                       const UpdateSettings& settings, const UpdateBuffers& buffers, uint32_t index,
                       cudaStream_t stream) {
  const uint32_t blocks = Blocks(network.parameters);
  switch (shape.precision) {
    case DevicePrecision::kFp32:
      Step<DevicePrecision::kFp32>
          <<<blocks, kThreads, 0, stream>>>(network, settings, buffers, index);
      break;
    case DevicePrecision::kTf32:
      Step<DevicePrecision::kTf32>
          <<<blocks, kThreads, 0, stream>>>(network, settings, buffers, index);
      break;
    case DevicePrecision::kBf16:
      Step<DevicePrecision::kBf16>
          <<<blocks, kThreads, 0, stream>>>(network, settings, buffers, index);
      break;
  }
  return cudaGetLastError();
}

cudaError_t LaunchImages(const DeviceNetwork& network, const PassShape& shape,
                         const UpdateBuffers& buffers, cudaStream_t stream) {
  const uint32_t blocks = Blocks(network.parameters);
  switch (shape.precision) {
    case DevicePrecision::kFp32:
      Images<DevicePrecision::kFp32><<<blocks, kThreads, 0, stream>>>(network, buffers);
      break;
    case DevicePrecision::kTf32:
      Images<DevicePrecision::kTf32><<<blocks, kThreads, 0, stream>>>(network, buffers);
      break;
    case DevicePrecision::kBf16:
      Images<DevicePrecision::kBf16><<<blocks, kThreads, 0, stream>>>(network, buffers);
      break;
  }
  return cudaGetLastError();
}

}  // namespace vixen::learner
