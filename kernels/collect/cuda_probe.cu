// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_probe.h"

#include "kernels/env/settings.h"

namespace vixen::kernels {
namespace {

constexpr float kSlope = 0.01f;

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

}  // namespace

cudaError_t EnqueueProbe(const float* parameters, const ProbeNetwork& network, const float* state,
                         float* out, cudaStream_t stream) {
  ProbeKernel<<<1, 256, 0, stream>>>(parameters, network, state, out);
  return cudaGetLastError();
}

}  // namespace vixen::kernels
