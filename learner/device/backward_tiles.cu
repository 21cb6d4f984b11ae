// SPDX-License-Identifier: Apache-2.0
// Loss and backward pass by wgmma.
#include <cuda_runtime.h>

#include "learner/device/tile_table.cuh"

#if VIXEN_HAS_WGMMA
#include "learner/device/head.cuh"
#include "learner/device/loss.cuh"
#include "learner/device/operand.cuh"
#include "learner/device/tile_pass.cuh"
#include "learner/device/tile_store.cuh"
#endif

namespace vixen::learner {
namespace {

#if VIXEN_HAS_WGMMA

using Tf32 = Operand<DevicePrecision::kTf32>;

// ∂loss/∂(the sums below) = the product where the layer's input is positive, a hundredth of it
// elsewhere: into the transposed buffer and, where another layer follows, over the block's inputs.
// `negative`: a chunk's signs in the low bits.
template <typename Shape>
__device__ __forceinline__ void StoreGradients(const tile::Pass<Shape>& pass,
                                               const uint32_t* negative, uint32_t here,
                                               char* shared, char* to, uint32_t features) {
  const auto places = tile::Places<Shape::kRows>::Here();
#pragma unroll
  for (uint32_t chunk = 0; chunk < Shape::kRows / tile::kRowBlock; ++chunk) {
    const uint32_t signs = negative[chunk];
#pragma unroll
    for (uint32_t half = 0; half < 2; ++half) {
      float value[8];
#pragma unroll
      for (uint32_t i = 0; i < 8; ++i) {
        const float x = pass.sum[chunk * 16 + half * 8 + i];
        value[i] = Tf32::Round((signs & 0x8000u >> (half * 8 + i)) != 0 ? kLeakySlope * x : x);
      }
      const uint32_t eight = chunk * 4 + half * 2;
      if (shared != nullptr) {
        places.Store(shared, eight, value);
        places.Store(shared, eight + 1, value + 4);
      }
      if (chunk * tile::kRowBlock < here) {
        places.template StoreTransposed<true>(to + chunk * features * 128, half, value);
      }
    }
  }
}

// Grid: blocks of the rows.
template <typename Shape>
__global__ void __launch_bounds__(tile::kThreads, 1)
    BackwardTiles(const __grid_constant__ DeviceNetwork network,
                  const __grid_constant__ UpdateSettings settings,
                  const __grid_constant__ UpdateBuffers buffers) {
  constexpr int kHidden = DeviceNetwork::kLayers - 1;
  using Pass = tile::Pass<Shape>;
  constexpr uint32_t kChunks = Shape::kRows / tile::kRowBlock;
  extern __shared__ __align__(1024) char shared[];
  __shared__ BlockLoss<Shape::kRows> loss;
  __shared__ tile::QuarterBarriers barriers;
  const uint32_t first = blockIdx.x * Shape::kRows;
  const uint32_t here = min(uint32_t{Shape::kRows}, settings.rows - first);
  const auto loss_rows = LoadLossRows<Shape::kRows, tile::kThreads>(settings, buffers, first);
  const auto* image = static_cast<const float*>(buffers.online_transposed);
  const auto matrix_of = [&](int l) {
    const DeviceLayer& layer = network.layers[l];
    return tile::Matrix{image + layer.image, layer.inputs, layer.outputs};
  };
  Pass pass(shared, tile::InputBytes(Shape::kRows, network), barriers);
  pass.Start(matrix_of(kHidden));

  uint32_t negative[kHidden][kChunks] = {};
#pragma unroll
  for (int l = 0; l < kHidden; ++l) {
#pragma unroll
    for (uint32_t i = 0; i < kChunks; ++i) {
      if (i * tile::kRowBlock >= here) continue;
      negative[l][i] =
          buffers.negative[l][(first / tile::kRowBlock + i) * tile::kThreads + threadIdx.x];
    }
  }
  const uint32_t quarter = tile::MostQuarters(network) - tile::QuartersOf(DeviceNetwork::kHeadRows);
  char* const inputs = shared + tile::InputByte(Shape::kRows, 0, quarter * tile::kOutputs);
  constexpr uint32_t kPadding = tile::PaddedFeatures(DeviceNetwork::kHeadRows) / 4 - 12;
  for (uint32_t i = threadIdx.x; i < Shape::kRows * kPadding; i += tile::kThreads) {
    const uint32_t column = DeviceNetwork::kHeadRows + i % kPadding * 4;
    *reinterpret_cast<uint4*>(inputs + tile::InputByte(Shape::kRows, i / kPadding, column)) =
        make_uint4(0, 0, 0, 0);
  }
  const LossPart part =
      LossOfRows<Shape::kRows, tile::kThreads>(settings, buffers, first, loss_rows, loss);
  __syncthreads();
  StoreLossGradient<Shape::kRows, tile::kThreads>(loss, [&](uint32_t row, uint32_t column,
                                                            float x) {
    *reinterpret_cast<float*>(inputs + tile::InputByte(Shape::kRows, row, column)) = Tf32::Round(x);
  });
  tile::FenceForProducts();
  __syncthreads();
  const auto block_of = [&](void* buffer, uint32_t features) {
    return static_cast<char*>(buffer) + size_t{first / tile::kRowBlock} * features * 128;
  };
  StoreLossPart<tile::kThreads>(buffers, part);
  tile::StoreTransposed<Shape::kRows>(
      inputs, DeviceNetwork::kHeadRows, 0, here / tile::kRowBlock,
      block_of(buffers.gradient_of[kHidden], tile::PaddedFeatures(DeviceNetwork::kHeadRows)));

#pragma unroll
  for (int l = kHidden; l > 0; --l) {
    const DeviceLayer layer = network.layers[l];
    if (l == kHidden) {
      pass.RunFirst(matrix_of(l), quarter);
    } else {
      pass.Run(matrix_of(l));
    }
    if (l > 1) pass.Start(matrix_of(l - 1));
    if (l > 1 && Pass::HasRead(layer.outputs, l == kHidden ? quarter : 0)) {
      pass.quarters.WaitUntilRead();
    }
    if (tile::Group() >= tile::QuartersOf(layer.inputs)) continue;
    if (threadIdx.x / 32 * 16 < layer.inputs) {
      const uint32_t features = tile::PaddedFeatures(layer.inputs);
      StoreGradients<Shape>(pass, negative[l - 1], here, l > 1 ? shared : nullptr,
                            block_of(buffers.gradient_of[l - 1], features), features);
    } else if (l > 1) {
      tile::StoreZeros<Shape::kRows>(shared);
    }
    if (l > 1) pass.quarters.TellWritten();
  }
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
    BackwardTiles<Shape><<<shape.backward_blocks(settings.rows), tile::kThreads,
                           tile::SharedBytes<Shape>(network), stream>>>(network, settings, buffers);
    return cudaGetLastError();
  });
}

}  // namespace vixen::learner
