// SPDX-License-Identifier: Apache-2.0
// The forward passes by wgmma.
#include <cuda_runtime.h>

#include "learner/device/tile_table.cuh"

#if VIXEN_HAS_WGMMA
#include "learner/device/head.cuh"
#include "learner/device/operand.cuh"
#include "learner/device/tile_pass.cuh"
#endif

namespace vixen::learner {
namespace {

uint32_t Blocks(uint32_t rows, int block) {
  return (rows + static_cast<uint32_t>(block) - 1) / static_cast<uint32_t>(block);
}

#if VIXEN_HAS_WGMMA

using Tf32 = Operand<DevicePrecision::kTf32>;

// LeakyReLU(sum + bias) of a hidden layer over the block's inputs, and for its first `kept` rows
// into the next layer's transposed input and its signs.
template <typename Shape>
__device__ __forceinline__ void StoreHidden(const tile::Pass<Shape>& pass, const float* bias,
                                            char* shared, char* to, uint32_t* signs,
                                            uint32_t features, uint32_t kept) {
  const auto places = tile::Places<Shape::kRows>::Here();
  const float low = bias[places.output], high = bias[places.output + 8];
  const auto rectified = [](float x) { return Tf32::Round(fmaxf(x, kLeakySlope * x)); };
  uint32_t negative = 0;
  pass.ForEach([&](uint32_t j, float a, float b, float c, float d) {
    const float value[4] = {rectified(a + low), rectified(b + low), rectified(c + high),
                            rectified(d + high)};
    char* const eight = shared + j * 1024;
    *reinterpret_cast<float*>(eight + places.shared[0]) = value[0];
    *reinterpret_cast<float*>(eight + places.shared[1]) = value[1];
    *reinterpret_cast<float*>(eight + (places.shared[0] ^ 32)) = value[2];
    *reinterpret_cast<float*>(eight + (places.shared[1] ^ 32)) = value[3];
    if (j * 8 >= kept) return;
    char* const row = to + j / 4 * features * 128 + (places.to ^ j % 4 * 32);
    *reinterpret_cast<float2*>(row) = make_float2(value[0], value[1]);
    *reinterpret_cast<float2*>(row + 1024) = make_float2(value[2], value[3]);
#pragma unroll
    for (const float x : value) {
      negative = __funnelshift_l(__float_as_uint(x) - 1, negative, 1);  // 0 counts as negative
    }
    if (j % 8 == 7) signs[j / 8 * tile::kThreads + threadIdx.x] = negative;
  });
}

// Grid: blocks of the online network's rows (s, then the bootstrap states), then of the target's.
template <typename Shape>
__global__ void __launch_bounds__(tile::kThreads, 1)
    ForwardTiles(const __grid_constant__ DeviceNetwork network,
                 const __grid_constant__ UpdateSettings settings,
                 const __grid_constant__ UpdateBuffers buffers) {
  constexpr uint32_t kRows = Shape::kRows;
  using Pass = tile::Pass<Shape>;
  extern __shared__ __align__(1024) char shared[];
  const uint32_t rows = settings.rows, online_rows = settings.double_dqn ? 2 * rows : rows;
  const uint32_t online_blocks = (online_rows + kRows - 1) / kRows;
  const bool target = blockIdx.x >= online_blocks;
  const uint32_t first = target ? rows + (blockIdx.x - online_blocks) * kRows : blockIdx.x * kRows;
  const uint32_t here = min(kRows, (target ? 2 * rows : online_rows) - first);
  // Rows of s: what the backward pass needs is kept.
  const uint32_t kept = target || first >= rows ? 0 : min(kRows, rows - first);
  const float* parameters = target ? buffers.target : buffers.online;
  const auto* image =
      static_cast<const float*>(target ? buffers.target_image : buffers.online_image);
  const auto matrix_of = [&](uint32_t l) {
    const DeviceLayer& layer = network.layers[l];
    return tile::Matrix{image + layer.image, layer.outputs, layer.inputs};
  };
  Pass pass(shared, tile::InputBytes(Shape::kRows, network));
  pass.Start(matrix_of(0));

  const uint32_t width = network.layers[0].inputs;
  const uint32_t units = tile::PaddedInputs(width) / 4;  // 16 bytes each
  const auto* states = static_cast<const float*>(buffers.states) + size_t{first} * width;
  for (uint32_t i = threadIdx.x; i < here * units; i += tile::kThreads) {
    const uint32_t row = i / units, column = i % units * 4;
    char* const to = shared + tile::InputByte(kRows, row, column);
    if (column < width) {
      CopyToShared(to, states + size_t{row} * width + column);
    } else {
      *reinterpret_cast<uint4*>(to) = make_uint4(0, 0, 0, 0);
    }
  }
  CloseCopies();
  WaitForCopies<0>();
  tile::FenceForProducts();
  __syncthreads();
  const auto block_of = [&](void* buffer, uint32_t features) {
    return static_cast<char*>(buffer) + size_t{first / tile::kRowBlock} * features * 128;
  };
  tile::StoreTransposed<Shape::kRows>(shared, width, kept,
                                      block_of(buffers.input[0], tile::PaddedFeatures(width)));

#pragma unroll 1
  for (uint32_t l = 0; l + 1 < DeviceNetwork::kLayers; ++l) {
    const DeviceLayer layer = network.layers[l];
    pass.Run(matrix_of(l));
    pass.Start(matrix_of(l + 1), l + 2 == DeviceNetwork::kLayers);
    __syncthreads();  // every product has read the inputs that the outputs overwrite
    const uint32_t output = threadIdx.x / 32 * 16;
    if (output < layer.outputs) {
      const uint32_t features = tile::PaddedFeatures(layer.outputs);
      StoreHidden<Shape>(pass, parameters + layer.bias, shared,
                         block_of(buffers.input[l + 1], features),
                         buffers.negative[l] + first / 64 * tile::kThreads, features, kept);
    } else if (output < tile::PaddedInputs(layer.outputs)) {
      tile::StoreZeros<kRows>(shared);
    }
    tile::FenceForProducts();
    __syncthreads();
  }

  const DeviceLayer head = network.layers[DeviceNetwork::kLayers - 1];
  float sum[kRows / 8];
  pass.RunHead(matrix_of(DeviceNetwork::kLayers - 1), sum);
  __syncthreads();
  auto* const values = reinterpret_cast<float*>(shared);  // [kRows, kValueStride]: V, A_0 …
  const uint32_t output = threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  if (threadIdx.x % 128 / 32 * 16 < head.outputs) {
    const uint32_t row = threadIdx.x / 128 * (kRows / 4) + threadIdx.x % 4 * 2;
    float* const to = values + row * kValueStride + output;
    const float low = parameters[head.bias + output], high = parameters[head.bias + output + 8];
#pragma unroll
    for (uint32_t j = 0; j < kRows / 32; ++j) {
      float* const eight = to + j * 8 * kValueStride;
      eight[0] = sum[4 * j] + low;
      eight[kValueStride] = sum[4 * j + 1] + low;
      eight[8] = sum[4 * j + 2] + high;
      eight[kValueStride + 8] = sum[4 * j + 3] + high;
    }
  }
  __syncthreads();
  float* const q = buffers.q + (size_t{target ? rows : 0} + first) * DeviceNetwork::kHeadRows;
#pragma unroll 4
  for (uint32_t row = threadIdx.x / 32; row < here; row += tile::kThreads / 32) {
    StoreQ(values + row * kValueStride, q + row * DeviceNetwork::kHeadRows);
  }
}

#else

// The device code of other targets: never launched there (ChoosePassShape).
template <typename Shape>
__global__ void ForwardTiles(const __grid_constant__ DeviceNetwork,
                             const __grid_constant__ UpdateSettings,
                             const __grid_constant__ UpdateBuffers) {}

#endif

}  // namespace

cudaError_t PrepareForwardTiles(const DeviceNetwork& network, const PassShape& shape) {
  return tile::WithTileRows(shape.forward_rows, [&](auto rows) {
    using Shape = decltype(rows);
    return cudaFuncSetAttribute(ForwardTiles<Shape>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                static_cast<int>(tile::SharedBytes<Shape>(network)));
  });
}

cudaError_t LaunchForwardTiles(const DeviceNetwork& network, const PassShape& shape,
                               const UpdateSettings& settings, const UpdateBuffers& buffers,
                               cudaStream_t stream) {
  return tile::WithTileRows(shape.forward_rows, [&](auto rows) {
    using Shape = decltype(rows);
    const uint32_t blocks =
        Blocks(settings.double_dqn ? 2 * settings.rows : settings.rows, Shape::kRows) +
        Blocks(settings.rows, Shape::kRows);
    ForwardTiles<Shape><<<blocks, tile::kThreads, tile::SharedBytes<Shape>(network), stream>>>(
        network, settings, buffers);
    return cudaGetLastError();
  });
}

}  // namespace vixen::learner
