// SPDX-License-Identifier: Apache-2.0
// Gradients of weights and biases by wgmma: a block takes 128 outputs and all inputs of a layer for
// a part of the rows, which are k. Both operands lie in blocks of 32 rows as the passes stored
// them, so that a stage is two bulk copies.
#include <cuda_runtime.h>

#include <algorithm>

#include "learner/device/tile_table.cuh"

#if VIXEN_HAS_WGMMA
#include "kernels/collect/cuda_ring.cuh"
#include "kernels/collect/cuda_wgmma.cuh"
#include "learner/device/tile_cache.cuh"
#endif

namespace vixen::learner {
namespace {

constexpr uint32_t kGradientGroups = 2;  // warpgroups of 64 outputs
constexpr uint32_t kGradientOutputs = kGradientGroups * tile::kOutputs;
constexpr uint32_t kMultipliers = 128 * kGradientGroups;
constexpr uint32_t kInputsAt = kGradientOutputs * 128;  // in a stage
constexpr int kStageBytes = static_cast<int>(kInputsAt + tile::kWidest * 128);
constexpr int kStages = 4;
constexpr size_t kSharedBytes = kStages * (kStageBytes + 16);

// Which parts of the rows a layer's blocks take.
struct Splits {
  uint32_t rows[DeviceNetwork::kLayers];  // of a part
  uint32_t count[DeviceNetwork::kLayers];
};

__host__ __device__ constexpr uint32_t OutputBlocks(uint32_t outputs) {
  return (outputs + kGradientOutputs - 1) / kGradientOutputs;
}

#if VIXEN_HAS_WGMMA

using Ring = kernels::RingOf<kStages, kStageBytes>;
static_assert(sizeof(Ring::Memory) == kSharedBytes);

struct Work {
  uint32_t layer, output, split;  // output: the first one
};

__device__ __forceinline__ Work WorkOf(const DeviceNetwork& network, const Splits& splits) {
  uint32_t index = blockIdx.x;
  for (uint32_t l = 0;; ++l) {
    const uint32_t across = OutputBlocks(network.layers[l].outputs);
    const uint32_t count = across * splits.count[l];
    if (index < count || l + 1 == DeviceNetwork::kLayers) {
      return {l, index % across * kGradientOutputs, index / across};
    }
    index -= count;
  }
}

// The gradients of this warpgroup's 64 outputs and kInputs inputs, and of the biases by two
// threads each.
template <int kInputs>
__device__ __forceinline__ void Multiply(Ring& ring, const DeviceLayer& layer, uint32_t output,
                                         uint32_t blocks, float* partial) {
  const uint32_t group = __shfl_sync(~0u, threadIdx.x / 128, 0), lane = threadIdx.x % 32;
  const bool active = output + group * tile::kOutputs < layer.outputs;
  const uint32_t of_bias = threadIdx.x / 2, half = threadIdx.x % 2;
  float sum[kInputs / 2];
  float bias = 0.0f;
#pragma unroll 1
  for (uint32_t i = 0; i < blocks; ++i) {
    const uint32_t stage = ring.Wait();
    if (active) {
      kernels::WgmmaFence();
#pragma unroll
      for (uint32_t step = 0; step < 4; ++step) {
        const uint32_t rows = stage + group * tile::kOutputs * 128 + 32 * step;
        kernels::WgmmaShared<kInputs>(sum, kernels::TileDescriptor(rows),
                                      kernels::TileDescriptor(stage + kInputsAt + 32 * step),
                                      i > 0 || step > 0);
      }
      kernels::WgmmaCommit();
    }
#pragma unroll
    for (uint32_t c = 0; c < 4; ++c) {
      float4 four;
      asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];"
                   : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
                   : "r"(stage + tile::Swizzled(of_bias, half * 64 + c * 16)));
      bias += four.x + four.y + four.z + four.w;
    }
    if (i > 0) {
      kernels::WgmmaWait<1>();
      ring.Release(ring.Before(), static_cast<int>(lane));
    }
    ring.Advance();
  }
  kernels::WgmmaWait<0>();

  bias += __shfl_xor_sync(~0u, bias, 1);
  if (half == 0 && output + of_bias < layer.outputs) partial[layer.bias + output + of_bias] = bias;
  const uint32_t row = output + threadIdx.x / 32 * 16 + lane / 4;
  if (output + threadIdx.x / 32 * 16 >= layer.outputs) return;
  float* const to = partial + layer.weight + size_t{row} * layer.inputs + lane % 4 * 2;
#pragma unroll
  for (uint32_t j = 0; j < kInputs / 8; ++j) {
    if (j * 8 >= layer.inputs) break;
    *reinterpret_cast<float2*>(to + j * 8) = make_float2(sum[4 * j], sum[4 * j + 1]);
    *reinterpret_cast<float2*>(to + size_t{8} * layer.inputs + j * 8) =
        make_float2(sum[4 * j + 2], sum[4 * j + 3]);
  }
}

// Grid: over layers, parts of the rows, blocks of outputs.
__global__ void __launch_bounds__(kMultipliers + 32, 1)
    WeightGradientTiles(const __grid_constant__ DeviceNetwork network, const Splits splits,
                        uint32_t rows, const __grid_constant__ UpdateBuffers buffers) {
  extern __shared__ __align__(1024) char shared[];
  const Work work = WorkOf(network, splits);
  const DeviceLayer layer = network.layers[work.layer];
  const uint32_t begin = work.split * splits.rows[work.layer];
  const uint32_t end = min(rows, begin + splits.rows[work.layer]);
  const uint32_t blocks = (end - begin) / tile::kRowBlock;
  Ring ring = kernels::StartRing(*reinterpret_cast<Ring::Memory*>(shared),
                                 static_cast<int>(kMultipliers / 32));
  __syncthreads();
  if (threadIdx.x >= kMultipliers) {
    if (threadIdx.x != kMultipliers) return;
    const uint32_t outputs = tile::PaddedFeatures(layer.outputs) * 128;  // bytes a block of rows
    const uint32_t inputs = tile::PaddedFeatures(layer.inputs) * 128;
    const uint32_t output_bytes = min(kInputsAt, outputs - work.output * 128);
    const size_t block = begin / tile::kRowBlock;
    const auto* gradients = static_cast<const char*>(buffers.gradient_of[work.layer]) +
                            block * outputs + work.output * 128;
    const auto* from = static_cast<const char*>(buffers.input[work.layer]) + block * inputs;
#pragma unroll 1
    for (uint32_t i = 0; i < blocks; ++i, gradients += outputs, from += inputs) {
      ring.Open(output_bytes + inputs);
      const uint32_t full = ring.Full(ring.place);
      tile::CopyBulk(ring.Stage(), gradients, output_bytes, full, tile::KeptInL2());
      tile::CopyBulk(ring.Stage() + kInputsAt, from, inputs, full, tile::FirstOutOfL2());
      ring.Advance();
    }
    return;
  }
  float* const partial = buffers.partial + size_t{work.split} * network.parameters;
  if (layer.inputs <= 64) {
    Multiply<64>(ring, layer, work.output, blocks, partial);
  } else {
    Multiply<256>(ring, layer, work.output, blocks, partial);
  }
}

#else

__global__ void WeightGradientTiles(const __grid_constant__ DeviceNetwork, const Splits, uint32_t,
                                    const __grid_constant__ UpdateBuffers) {}

#endif

}  // namespace

cudaError_t PrepareWeightGradientTiles(const DeviceNetwork&, const PassShape&) {
  return cudaFuncSetAttribute(WeightGradientTiles, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              static_cast<int>(kSharedBytes));
}

cudaError_t LaunchWeightGradientTiles(const DeviceNetwork& network, const PassShape& shape,
                                      const UpdateSettings& settings, const UpdateBuffers& buffers,
                                      cudaStream_t stream) {
  Splits splits;
  uint32_t blocks = 0;
  for (uint32_t l = 0; l < DeviceNetwork::kLayers; ++l) {
    splits.rows[l] = shape.split_rows[l];
    splits.count[l] = shape.splits_of(l, settings.rows);
    blocks += OutputBlocks(network.layers[l].outputs) * splits.count[l];
  }
  WeightGradientTiles<<<blocks, kMultipliers + 32, kSharedBytes, stream>>>(network, splits,
                                                                           settings.rows, buffers);
  return cudaGetLastError();
}

}  // namespace vixen::learner
