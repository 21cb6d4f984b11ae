// SPDX-License-Identifier: Apache-2.0
// Loss and backward pass by wgmma.
#include <cuda_runtime.h>

#include "learner/device/tile_table.cuh"

#if VIXEN_HAS_WGMMA
#include "learner/device/head.cuh"
#include "learner/device/loss.cuh"
#include "learner/device/operand.cuh"
#include "learner/device/tile_pass.cuh"
#endif

namespace vixen::learner {
namespace {

#if VIXEN_HAS_WGMMA

using Tf32 = Operand<DevicePrecision::kTf32>;

// ∂loss/∂(the sums below) = the product where the layer's input is positive, a hundredth of it
// elsewhere: over the block's inputs and into the transposed buffer.
template <typename Shape>
__device__ __forceinline__ void StoreGradients(const tile::Pass<Shape>& pass, const uint32_t* signs,
                                               char* shared, char* to, uint32_t features,
                                               uint32_t here) {
  const auto places = tile::Places<Shape::kRows>::Here();
  uint32_t negative = 0;
  const auto through = [&negative](float x) {
    const float kept = static_cast<int32_t>(negative) < 0 ? kLeakySlope * x : x;
    negative <<= 1;
    return Tf32::Round(kept);
  };
  pass.ForEach([&](uint32_t j, float a, float b, float c, float d) {
    if (j % 8 == 0) negative = signs[j / 8];
    const float value[4] = {through(a), through(b), through(c), through(d)};
    char* const eight = shared + j * 1024;
    *reinterpret_cast<float*>(eight + places.shared[0]) = value[0];
    *reinterpret_cast<float*>(eight + places.shared[1]) = value[1];
    *reinterpret_cast<float*>(eight + (places.shared[0] ^ 32)) = value[2];
    *reinterpret_cast<float*>(eight + (places.shared[1] ^ 32)) = value[3];
    if (j * 8 >= here) return;
    char* const row = to + j / 4 * features * 128 + (places.to ^ j % 4 * 32);
    *reinterpret_cast<float2*>(row) = make_float2(value[0], value[1]);
    *reinterpret_cast<float2*>(row + 1024) = make_float2(value[2], value[3]);
  });
}

// Grid: blocks of the rows.
template <typename Shape>
__global__ void __launch_bounds__(tile::kThreads, 1)
    BackwardTiles(const __grid_constant__ DeviceNetwork network,
                  const __grid_constant__ UpdateSettings settings,
                  const __grid_constant__ UpdateBuffers buffers) {
  constexpr int kHidden = DeviceNetwork::kLayers - 1;
  using Pass = tile::Pass<Shape>;
  constexpr int kWarps = tile::kThreads / 32;
  extern __shared__ __align__(1024) char shared[];
  __shared__ LossPart parts[kWarps];
  const uint32_t first = blockIdx.x * Shape::kRows;
  const uint32_t here = min(uint32_t{Shape::kRows}, settings.rows - first);
  const auto* image = static_cast<const float*>(buffers.online_transposed);
  const auto matrix_of = [&](int l) {
    const DeviceLayer& layer = network.layers[l];
    return tile::Matrix{image + layer.image, layer.inputs, layer.outputs};
  };
  Pass pass(shared, tile::InputBytes(Shape::kRows, network));
  pass.Start(matrix_of(kHidden));

  uint32_t signs[kHidden][Shape::kRows / 64] = {};
#pragma unroll
  for (int l = 0; l < kHidden; ++l) {
#pragma unroll
    for (uint32_t i = 0; i < Shape::kRows / 64; ++i) {
      if (i * 64 >= here) continue;
      signs[l][i] = buffers.negative[l][(first / 64 + i) * tile::kThreads + threadIdx.x];
    }
  }
  constexpr uint32_t kPadding = tile::PaddedInputs(DeviceNetwork::kHeadRows) / 4 - 12;
  for (uint32_t i = threadIdx.x; i < Shape::kRows * kPadding; i += tile::kThreads) {
    const uint32_t column = DeviceNetwork::kHeadRows + i % kPadding * 4;
    *reinterpret_cast<uint4*>(shared + tile::InputByte(Shape::kRows, i / kPadding, column)) =
        make_uint4(0, 0, 0, 0);
  }
  LossOfRows<Shape::kRows, kWarps>(
      settings, buffers, first, parts, [&](uint32_t row, uint32_t column, float x) {
        *reinterpret_cast<float*>(shared + tile::InputByte(Shape::kRows, row, column)) =
            Tf32::Round(x);
      });
  tile::FenceForProducts();
  __syncthreads();
  const auto block_of = [&](void* buffer, uint32_t features) {
    return static_cast<char*>(buffer) + size_t{first / tile::kRowBlock} * features * 128;
  };
  tile::StoreTransposed<Shape::kRows>(
      shared, DeviceNetwork::kHeadRows, here,
      block_of(buffers.gradient_of[kHidden], tile::PaddedFeatures(DeviceNetwork::kHeadRows)));

#pragma unroll
  for (int l = kHidden; l > 0; --l) {
    const DeviceLayer layer = network.layers[l];
    pass.Run(matrix_of(l));
    if (l > 1) pass.Start(matrix_of(l - 1));
    __syncthreads();
    const uint32_t output = threadIdx.x / 32 * 16;
    if (output < layer.inputs) {
      const uint32_t features = tile::PaddedFeatures(layer.inputs);
      StoreGradients<Shape>(pass, signs[l - 1], shared,
                            block_of(buffers.gradient_of[l - 1], features), features, here);
    } else if (output < tile::PaddedInputs(layer.inputs)) {
      tile::StoreZeros<Shape::kRows>(shared);
    }
    tile::FenceForProducts();
    __syncthreads();
  }
  if (threadIdx.x == 0) FoldLoss<kWarps>(buffers, parts);
}

#else

template <typename Shape>
__global__ void BackwardTiles(const __grid_constant__ DeviceNetwork,
                              const __grid_constant__ UpdateSettings,
                              const __grid_constant__ UpdateBuffers) {}

#endif

}  // namespace

cudaError_t PrepareBackwardTiles(const DeviceNetwork& network, const PassShape& shape) {
  return tile::WithTileRows(shape.backward_rows, [&](auto rows) {
    using Shape = decltype(rows);
    return cudaFuncSetAttribute(BackwardTiles<Shape>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                static_cast<int>(tile::SharedBytes<Shape>(network)));
  });
}

cudaError_t LaunchBackwardTiles(const DeviceNetwork& network, const PassShape& shape,
                                const UpdateSettings& settings, const UpdateBuffers& buffers,
                                cudaStream_t stream) {
  return tile::WithTileRows(shape.backward_rows, [&](auto rows) {
    using Shape = decltype(rows);
    BackwardTiles<Shape><<<shape.loss_blocks(settings.rows), tile::kThreads,
                           tile::SharedBytes<Shape>(network), stream>>>(network, settings, buffers);
    return cudaGetLastError();
  });
}

}  // namespace vixen::learner
