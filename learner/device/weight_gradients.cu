// SPDX-License-Identifier: Apache-2.0
// Gradients of weights and biases: for each layer ∂loss/∂W[m, n] = Σ_rows G[m, row]·X[n, row], the
// rows cut into parts that the reduction adds in order, so that the same rows give the same bits.
#include <cuda_runtime.h>

#include "learner/device/network_kernels.h"
#include "learner/device/operand.cuh"
#include "learner/device/tile_table.cuh"

namespace vixen::learner {
namespace {

constexpr int kTile = 64;                       // of both m and n
constexpr int kThreads = 128;                   // four warps of 32 × 32
constexpr int kChunkBytes = 128;                // of rows, a feature
constexpr int kStrideBytes = kChunkBytes + 16;  // an odd multiple of 16: other banks
constexpr int kSteps = kChunkBytes / 32;

struct Tile {
  uint32_t layer, m, n;  // first output, first input
};

__device__ __forceinline__ Tile TileOf(const DeviceNetwork& network, uint32_t index) {
  for (uint32_t l = 0;; ++l) {
    const uint32_t across = (network.layers[l].inputs + kTile - 1) / kTile;
    const uint32_t count = (network.layers[l].outputs + kTile - 1) / kTile * across;
    if (index < count || l + 1 == DeviceNetwork::kLayers) {
      return {l, index / across * kTile, index % across * kTile};
    }
    index -= count;
  }
}

uint32_t TileCount(const DeviceNetwork& network) {
  uint32_t count = 0;
  for (const DeviceLayer& layer : network.layers) {
    count += (layer.inputs + kTile - 1) / kTile * ((layer.outputs + kTile - 1) / kTile);
  }
  return count;
}

// Grid: tiles × splits. `chunks` of rows a split.
template <DevicePrecision kPrecision>
__global__ void __launch_bounds__(kThreads)
    WeightGradients(const __grid_constant__ DeviceNetwork network, uint32_t rows, uint32_t chunks,
                    const __grid_constant__ UpdateBuffers buffers) {
  using Type = typename Operand<kPrecision>::Type;
  constexpr uint32_t kChunk = kChunkBytes / sizeof(Type);            // rows
  __shared__ __align__(16) char shared[2][2][kTile * kStrideBytes];  // [stage][operand]
  const Tile tile = TileOf(network, blockIdx.x);
  const DeviceLayer layer = network.layers[tile.layer];
  const auto* gradients = static_cast<const Type*>(buffers.gradient_of[tile.layer]);
  const auto* inputs = static_cast<const Type*>(buffers.input[tile.layer]);
  const uint32_t begin = blockIdx.y * chunks * kChunk;
  const uint32_t end = min(rows, begin + chunks * kChunk);
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32_t warp_m = warp / 2 * 32, warp_n = warp % 2 * 32;

  const auto copy = [&](uint32_t row, uint32_t stage) {
    if (row < end) {
      for (uint32_t i = threadIdx.x; i < kTile * 8; i += kThreads) {
        const uint32_t feature = i / 8, unit = i % 8;
        const uint32_t to = feature * kStrideBytes + unit * 16;
        const size_t along = row + unit * (16 / sizeof(Type));
        CopyToShared(&shared[stage][0][to], gradients + size_t{tile.m + feature} * rows + along);
        CopyToShared(&shared[stage][1][to], inputs + size_t{tile.n + feature} * rows + along);
      }
    }
    CloseCopies();
  };

  float sum[2][4][4] = {};
  float bias = 0.0f;
  copy(begin, 0);
  uint32_t stage = 0;
  for (uint32_t row = begin; row < end; row += kChunk, stage ^= 1) {
    copy(row + kChunk, stage ^ 1);
    WaitForCopies<1>();
    __syncthreads();
    const uint32_t a_at = SharedAddress(shared[stage][0]) +
                          (warp_m + lane / 8 % 2 * 8 + lane % 8) * kStrideBytes + lane / 16 * 16;
    const uint32_t b_at = SharedAddress(shared[stage][1]) +
                          (warp_n + lane / 16 * 8 + lane % 8) * kStrideBytes + lane / 8 % 2 * 16;
#pragma unroll
    for (uint32_t step = 0; step < kSteps; ++step) {
      uint32_t a[2][4], b[2][4];
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) {
        LoadMatrices(a[i], a_at + i * 16 * kStrideBytes + step * 32);
        LoadMatrices(b[i], b_at + i * 16 * kStrideBytes + step * 32);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          Operand<kPrecision>::Mma(sum[i][n], a[i], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
        }
      }
    }
    if (tile.n == 0 && threadIdx.x < kTile) {
      const auto* values =
          reinterpret_cast<const Type*>(&shared[stage][0][threadIdx.x * kStrideBytes]);
      for (uint32_t i = 0; i < kChunk; ++i) bias += static_cast<float>(values[i]);
    }
    __syncthreads();
  }

  float* const partial = buffers.partial + size_t{blockIdx.y} * network.parameters;
#pragma unroll
  for (uint32_t i = 0; i < 2; ++i) {
#pragma unroll
    for (uint32_t n = 0; n < 4; ++n) {
      const uint32_t output = tile.m + warp_m + i * 16 + lane / 4;
      const uint32_t input = tile.n + warp_n + n * 8 + lane % 4 * 2;
      if (input >= layer.inputs) continue;
      float* const to = partial + layer.weight + size_t{output} * layer.inputs + input;
      if (output < layer.outputs) {
        *reinterpret_cast<float2*>(to) = make_float2(sum[i][n][0], sum[i][n][1]);
      }
      if (output + 8 < layer.outputs) {
        *reinterpret_cast<float2*>(to + size_t{8} * layer.inputs) =
            make_float2(sum[i][n][2], sum[i][n][3]);
      }
    }
  }
  if (tile.n == 0 && threadIdx.x < kTile && tile.m + threadIdx.x < layer.outputs) {
    partial[layer.bias + tile.m + threadIdx.x] = bias;
  }
}

}  // namespace

cudaError_t PrepareWeightGradients(const DeviceNetwork& network, const PassShape& shape) {
  return shape.wgmma ? PrepareWeightGradientTiles(network, shape) : cudaSuccess;
}

cudaError_t LaunchWeightGradients(const DeviceNetwork& network, const PassShape& shape,
                                  const UpdateSettings& settings, const UpdateBuffers& buffers,
                                  cudaStream_t stream) {
  if (shape.wgmma) return LaunchWeightGradientTiles(network, shape, settings, buffers, stream);
  const auto element = static_cast<uint32_t>(ElementBytes(shape.precision));
  const uint32_t chunk = kChunkBytes / element;
  const auto splits = static_cast<uint32_t>(shape.splits);
  const uint32_t chunks = (settings.rows / chunk + splits - 1) / splits;
  const dim3 grid(TileCount(network), splits);
  switch (shape.precision) {
    case DevicePrecision::kFp32:
      WeightGradients<DevicePrecision::kFp32>
          <<<grid, kThreads, 0, stream>>>(network, settings.rows, chunks, buffers);
      break;
    case DevicePrecision::kTf32:
      WeightGradients<DevicePrecision::kTf32>
          <<<grid, kThreads, 0, stream>>>(network, settings.rows, chunks, buffers);
      break;
    case DevicePrecision::kBf16:
      WeightGradients<DevicePrecision::kBf16>
          <<<grid, kThreads, 0, stream>>>(network, settings.rows, chunks, buffers);
      break;
  }
  return cudaGetLastError();
}

}  // namespace vixen::learner
