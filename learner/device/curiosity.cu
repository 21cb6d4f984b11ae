// SPDX-License-Identifier: Apache-2.0
#include "learner/device/curiosity.h"

#include <cuda_runtime.h>

#include <algorithm>

#include "kernels/env/settings.h"
#include "learner/device/head.cuh"

namespace vixen::learner {
namespace {

constexpr uint32_t kChunk = 32;  // rows at a time, a lane each
constexpr uint32_t kThreads = 256;
constexpr uint32_t kStepThreads = 1024;
constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
constexpr double kEpsilon = 1e-8;

// Whether update `index` of the launch ends a period and nothing failed up to it. The same for all
// threads of the block. A later update may fail meanwhile, on the other stream: that does not
// count.
__device__ __forceinline__ bool Due(const CuriosityView& curiosity, const UpdateControl& control,
                                    uint32_t index) {
  __shared__ bool due;
  if (threadIdx.x == 0) {
    const uint32_t failed = control.failed;  // 1 + its index
    due = (failed == 0 || failed > index + 1) && control.curiosity_failed == 0 &&
          (control.updates + index + 1) % curiosity.period == 0;
  }
  __syncthreads();
  return due;
}

__device__ __forceinline__ float StateAt(const float* features, uint32_t count, uint32_t bar,
                                         const float* portfolio, uint32_t column) {
  return column < count ? features[size_t{bar} * count + column] : portfolio[column - count];
}

// Of kChunk rows, in shared memory; strides are odd, so that the rows lie in different banks.
struct Activations {
  float input[kChunk][kernels::kMostEmbedding + 5];
  float error[kChunk][kernels::kMostEmbedding + 1];  // the target, then ∂loss/∂output
  float hidden[kChunk][CuriosityView::kMostHidden + 1];
  float hidden_gradient[kChunk][CuriosityView::kMostHidden + 1];
};
static_assert(sizeof(Activations) < 48 * 1024);

__device__ __forceinline__ void Load(const ReplayRow& row, const float* features, uint32_t count,
                                     uint32_t embedding, float* input, float* target) {
  const uint32_t lane = threadIdx.x % 32;
  if (lane < embedding) {
    input[lane] = StateAt(features, count, row.bar, row.portfolio, lane);
    target[lane] = StateAt(features, count, row.bar + 1, row.next_portfolio, lane);
  }
  if (lane < kernels::kCategories) {
    const uint32_t exposure = row.action / kernels::kStyles;
    const uint32_t category = exposure < 2 ? 0 : exposure == 2 ? 1 : 2;
    input[embedding + lane] = lane == category ? 1.0f : 0.0f;
  }
}

// Grid: at most kMostBlocks; a block takes every gridDim-th chunk of rows.
__global__ void __launch_bounds__(kThreads)
    CuriosityGradients(const __grid_constant__ ReplayView replay, uint32_t features, uint32_t batch,
                       const __grid_constant__ CuriosityView curiosity,
                       const __grid_constant__ UpdateBuffers buffers, uint32_t index) {
  if (!Due(curiosity, *buffers.control, index)) return;
  __shared__ Activations now;
  __shared__ double losses[kThreads / 32];
  const uint32_t embedding = curiosity.embedding, hidden = curiosity.hidden;
  const uint32_t inputs = embedding + kernels::kCategories;
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  constexpr uint32_t kWarps = kThreads / 32;
  const float* weight0 = curiosity.parameters;
  const float* bias0 = weight0 + hidden * inputs;
  const float* weight1 = bias0 + hidden;
  const float* bias1 = weight1 + embedding * hidden;
  float* const gradient = curiosity.partial + size_t{blockIdx.x} * curiosity.count();
  const float scale = 2.0f / (static_cast<float>(batch) * static_cast<float>(embedding));
  double loss = 0.0;

  for (uint32_t first = blockIdx.x * kChunk; first < batch; first += gridDim.x * kChunk) {
    const uint32_t rows = min(kChunk, batch - first);
    for (uint32_t i = warp; i < rows; i += kWarps) {
      Load(replay.rows[buffers.slot[first + i]], replay.features, features, embedding, now.input[i],
           now.error[i]);
    }
    __syncthreads();
    for (uint32_t u = warp; u < hidden; u += kWarps) {
      float sum = bias0[u];
      for (uint32_t k = 0; k < inputs; ++k) {
        sum = fmaf(weight0[u * inputs + k], now.input[lane][k], sum);
      }
      now.hidden[lane][u] = sum > 0.0f ? sum : kLeakySlope * sum;
    }
    __syncthreads();
    for (uint32_t e = warp; e < embedding; e += kWarps) {
      float sum = bias1[e];
      for (uint32_t u = 0; u < hidden; ++u) {
        sum = fmaf(weight1[e * hidden + u], now.hidden[lane][u], sum);
      }
      const float error = lane < rows ? sum - now.error[lane][e] : 0.0f;
      loss += static_cast<double>(error) * error;
      now.error[lane][e] = scale * error;
    }
    __syncthreads();
    for (uint32_t u = warp; u < hidden; u += kWarps) {
      float sum = 0.0f;
      for (uint32_t e = 0; e < embedding; ++e) {
        sum = fmaf(weight1[e * hidden + u], now.error[lane][e], sum);
      }
      now.hidden_gradient[lane][u] = now.hidden[lane][u] > 0.0f ? sum : kLeakySlope * sum;
    }
    __syncthreads();

    const auto add = [&](float* to, auto&& term) {
      float sum = first == blockIdx.x * kChunk ? 0.0f : *to;
      for (uint32_t i = 0; i < rows; ++i) sum += term(i);
      *to = sum;
    };
    float* to = gradient;
    for (uint32_t i = threadIdx.x; i < hidden * inputs; i += kThreads) {
      const uint32_t u = i / inputs, k = i % inputs;
      add(to + i, [&](uint32_t r) { return now.hidden_gradient[r][u] * now.input[r][k]; });
    }
    to += hidden * inputs;
    for (uint32_t u = threadIdx.x; u < hidden; u += kThreads) {
      add(to + u, [&](uint32_t r) { return now.hidden_gradient[r][u]; });
    }
    to += hidden;
    for (uint32_t i = threadIdx.x; i < embedding * hidden; i += kThreads) {
      const uint32_t e = i / hidden, u = i % hidden;
      add(to + i, [&](uint32_t r) { return now.error[r][e] * now.hidden[r][u]; });
    }
    to += embedding * hidden;
    for (uint32_t e = threadIdx.x; e < embedding; e += kThreads) {
      add(to + e, [&](uint32_t r) { return now.error[r][e]; });
    }
    __syncthreads();
  }
  for (int offset = 16; offset > 0; offset /= 2) loss += __shfl_down_sync(~0u, loss, offset);
  if (lane == 0) losses[warp] = loss;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (uint32_t w = 1; w < kWarps; ++w) loss += losses[w];
  curiosity.loss_part[blockIdx.x] = loss;
}

// One block: the gradient's parts in order, then Adam, unless loss or gradient is not finite.
__global__ void __launch_bounds__(kStepThreads)
    CuriosityStep(const __grid_constant__ CuriosityView curiosity, uint32_t batch, uint32_t blocks,
                  const __grid_constant__ UpdateBuffers buffers, uint32_t index) {
  UpdateControl& control = *buffers.control;
  if (!Due(curiosity, control, index)) return;
  __shared__ bool finite;
  const uint32_t count = curiosity.count();
  double loss = 0.0;
  for (uint32_t b = 0; b < blocks; ++b) loss += curiosity.loss_part[b];
  loss /= static_cast<double>(batch) * curiosity.embedding;
  if (threadIdx.x == 0) finite = isfinite(loss);
  __syncthreads();
  float* const gradient = curiosity.partial;  // the sum over the first part
  float squares = 0.0f;
  for (uint32_t i = threadIdx.x; i < count; i += kStepThreads) {
    float sum = gradient[i];
    for (uint32_t b = 1; b < blocks; ++b) sum += curiosity.partial[size_t{b} * count + i];
    gradient[i] = sum;
    squares = fmaf(sum, sum, squares);
  }
  if (!isfinite(squares)) finite = false;
  __syncthreads();
  if (threadIdx.x == 0) {
    buffers.statistics[index].curiosity_loss = loss;
    if (!finite) control.curiosity_failed = index + 1;
  }
  if (!finite) return;
  const uint64_t before = control.updates / curiosity.period;
  const auto steps = static_cast<double>(control.curiosity_steps +
                                         (control.updates + index + 1) / curiosity.period - before);
  const auto size = static_cast<float>(curiosity.learning_rate / (1.0 - pow(kBeta1, steps)));
  const auto root_correction = static_cast<float>(sqrt(1.0 - pow(kBeta2, steps)));
  for (uint32_t i = threadIdx.x; i < count; i += kStepThreads) {
    const float g = gradient[i];
    const float first =
        fmaf(static_cast<float>(1.0 - kBeta1), g - curiosity.first[i], curiosity.first[i]);
    const float second = fmaf(static_cast<float>(kBeta2), curiosity.second[i],
                              static_cast<float>(1.0 - kBeta2) * g * g);
    curiosity.first[i] = first;
    curiosity.second[i] = second;
    curiosity.parameters[i] -=
        size * first / (sqrtf(second) / root_correction + static_cast<float>(kEpsilon));
  }
}

}  // namespace

cudaError_t LaunchCuriosity(const ReplayView& replay, const DeviceNetwork& network,
                            const UpdateSettings& settings, const CuriosityView& curiosity,
                            const UpdateBuffers& buffers, uint32_t index, cudaStream_t stream) {
  const uint32_t blocks =
      std::min(CuriosityView::kMostBlocks, (settings.batch + kChunk - 1) / kChunk);
  CuriosityGradients<<<blocks, kThreads, 0, stream>>>(replay, network.features, settings.batch,
                                                      curiosity, buffers, index);
  CuriosityStep<<<1, kStepThreads, 0, stream>>>(curiosity, settings.batch, blocks, buffers, index);
  return cudaGetLastError();
}

}  // namespace vixen::learner
