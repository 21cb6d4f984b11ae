// SPDX-License-Identifier: Apache-2.0
// The forward passes by wgmma.
#include <cuda_runtime.h>

#include "learner/device/tile_table.cuh"

#if VIXEN_HAS_WGMMA
#include "learner/device/head.cuh"
#include "learner/device/operand.cuh"
#include "learner/device/tile_pass.cuh"
#include "learner/device/tile_store.cuh"
#endif

namespace vixen::learner {
namespace {

uint32_t Blocks(uint32_t rows, int block) {
  return (rows + static_cast<uint32_t>(block) - 1) / static_cast<uint32_t>(block);
}

#if VIXEN_HAS_WGMMA

using Tf32 = Operand<DevicePrecision::kTf32>;

// Which rows a block has. Of the online network chunks of 32 rows of s and of the bootstrap states
// take turns, so that every block has as much to keep for the backward pass as any other.
struct Rows {
  uint32_t rows;   // R
  uint32_t first;  // among those of the block's network
  uint32_t here;   // of the block
  uint32_t shift;  // 1 where every second chunk is of s, 0 where each is
  bool target;

  template <uint32_t kRows>
  static __device__ __forceinline__ Rows OfBlock(const UpdateSettings& settings) {
    const uint32_t online = settings.double_dqn ? 2 * settings.rows : settings.rows;
    const uint32_t blocks = (online + kRows - 1) / kRows;
    const bool target = blockIdx.x >= blocks;
    const uint32_t first = (target ? blockIdx.x - blocks : blockIdx.x) * kRows;
    return {settings.rows, first, min(kRows, (target ? settings.rows : online) - first),
            settings.double_dqn ? 1u : 0u, target};
  }
  __device__ __forceinline__ QRow Of(uint32_t i) const {
    const uint32_t at = first + i, chunk = at / tile::kRowBlock;
    if (target) return {2, at};
    return {chunk & shift, (chunk >> shift) * tile::kRowBlock + at % tile::kRowBlock};
  }
  // Chunks of s, and the first.
  __device__ __forceinline__ uint32_t kept() const {
    return target ? 0 : here / tile::kRowBlock >> shift;
  }
  __device__ __forceinline__ uint32_t first_kept() const {
    return target ? 0 : first / tile::kRowBlock >> shift;
  }
};

// LeakyReLU(sum + bias) of a hidden layer over the block's inputs, and of the rows of s into the
// next layer's transposed input and its signs.
template <typename Shape>
__device__ __forceinline__ void StoreHidden(const tile::Pass<Shape>& pass, float low, float high,
                                            const Rows& rows, char* shared, char* to,
                                            uint32_t features, uint16_t* signs) {
  const auto places = tile::Places<Shape::kRows>::Here();
  const auto rectified = [](float x) { return Tf32::Round(fmaxf(x, kLeakySlope * x)); };
  uint32_t left = rows.kept();
#pragma unroll
  for (uint32_t chunk = 0; chunk < Shape::kRows / tile::kRowBlock; ++chunk) {
    const bool keep = left > 0 && (chunk & rows.shift) == 0;
    uint32_t negative = 0;
#pragma unroll
    for (uint32_t half = 0; half < 2; ++half) {
      float value[8];
#pragma unroll
      for (uint32_t i = 0; i < 8; ++i) {
        value[i] = rectified(pass.sum[chunk * 16 + half * 8 + i] + (i % 4 < 2 ? low : high));
      }
      const uint32_t eight = chunk * 4 + half * 2;
      places.Store(shared, eight, value);
      places.Store(shared, eight + 1, value + 4);
      if (!keep) continue;
      places.template StoreTransposed<false>(to, half, value);
#pragma unroll
      for (const float x : value) {
        negative = __funnelshift_l(__float_as_uint(x) - 1, negative, 1);  // 0 counts as negative
      }
    }
    if (!keep) continue;
    *signs = static_cast<uint16_t>(negative);
    signs += tile::kThreads;
    to += features * 128;
    --left;
  }
}

// Grid: blocks of the online network's rows, then of the target's.
template <typename Shape>
__global__ void __launch_bounds__(tile::kThreads, 1)
    ForwardTiles(const __grid_constant__ DeviceNetwork network,
                 const __grid_constant__ UpdateSettings settings,
                 const __grid_constant__ UpdateBuffers buffers) {
  constexpr uint32_t kRows = Shape::kRows;
  using Pass = tile::Pass<Shape>;
  extern __shared__ __align__(1024) char shared[];
  __shared__ tile::QuarterBarriers barriers;
  __shared__ float head_bias[DeviceNetwork::kHeadRows];
  __shared__ uint8_t actions[kRows];
  const Rows rows = Rows::OfBlock<kRows>(settings);
  const float* parameters = rows.target ? buffers.target : buffers.online;
  const auto* image =
      static_cast<const float*>(rows.target ? buffers.target_image : buffers.online_image);
  const auto matrix_of = [&](uint32_t l) {
    const DeviceLayer& layer = network.layers[l];
    return tile::Matrix{image + layer.image, layer.outputs, layer.inputs};
  };
  Pass pass(shared, tile::InputBytes(kRows, network), barriers);
  pass.Start(matrix_of(0));

  const uint32_t width = network.layers[0].inputs;
  const uint32_t quarter = tile::MostQuarters(network) - tile::QuartersOf(width);
  char* const inputs = shared + tile::InputByte(kRows, 0, quarter * tile::kOutputs);
  const auto* states = static_cast<const float*>(buffers.states);
  // 16 bytes each; sixteen threads a row of a quarter.
  for (uint32_t column = threadIdx.x % 16 * 4; column < tile::PaddedFeatures(width);
       column += tile::kOutputs) {
    for (uint32_t row = threadIdx.x / 16; row < rows.here; row += tile::kThreads / 16) {
      char* const to = inputs + tile::InputByte(kRows, row, column);
      if (column < width) {
        const QRow at = rows.Of(row);
        CopyToShared(to, states + size_t{at.row + (at.part > 0 ? rows.rows : 0)} * width + column);
      } else {
        *reinterpret_cast<uint4*>(to) = make_uint4(0, 0, 0, 0);
      }
    }
  }
  CloseCopies();
  // What the end would wait for.
  const DeviceLayer head = network.layers[DeviceNetwork::kLayers - 1];
  if (threadIdx.x < DeviceNetwork::kHeadRows) {
    head_bias[threadIdx.x] = parameters[head.bias + threadIdx.x];
  }
  if (threadIdx.x < rows.here) {
    const QRow at = rows.Of(threadIdx.x);
    actions[threadIdx.x] = at.part == 0 ? buffers.action[at.row] : 0;
  }
  WaitForCopies<0>();
  tile::FenceForProducts();
  __syncthreads();
  const auto block_of = [&](void* buffer, uint32_t features) {
    return static_cast<char*>(buffer) + size_t{rows.first_kept()} * features * 128;
  };
  tile::StoreTransposed<kRows>(inputs, width, rows.shift, rows.kept(),
                               block_of(buffers.input[0], tile::PaddedFeatures(width)));

#pragma unroll 1
  for (uint32_t l = 0; l + 1 < DeviceNetwork::kLayers; ++l) {
    const DeviceLayer layer = network.layers[l];
    if (l == 0) {
      pass.RunFirst(matrix_of(l), quarter);
    } else {
      pass.Run(matrix_of(l));
    }
    if (l + 2 < DeviceNetwork::kLayers) pass.Start(matrix_of(l + 1));
    const uint32_t output = threadIdx.x / 32 * 16;
    const float* const bias = parameters + layer.bias + output + threadIdx.x % 32 / 4;
    const bool real = output < layer.outputs;
    const float low = real ? bias[0] : 0.0f, high = real ? bias[8] : 0.0f;
    if (Pass::HasRead(layer.inputs, l == 0 ? quarter : 0)) pass.quarters.WaitUntilRead();
    if (tile::Group() >= tile::QuartersOf(layer.outputs)) continue;
    if (real) {
      const uint32_t features = tile::PaddedFeatures(layer.outputs);
      StoreHidden<Shape>(pass, low, high, rows, shared, block_of(buffers.input[l + 1], features),
                         features,
                         buffers.negative[l] + rows.first_kept() * tile::kThreads + threadIdx.x);
    } else {
      tile::StoreZeros<kRows>(shared);
    }
    pass.quarters.TellWritten();
  }

  float sum[kRows / 8];
  pass.RunHead(matrix_of(DeviceNetwork::kLayers - 1), sum);
  __syncthreads();
  auto* const values = reinterpret_cast<float*>(shared);  // [kRows, kValueStride]: V, A_0 …
  const uint32_t output = threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  if (threadIdx.x % 128 / 32 * 16 < head.outputs) {
    const uint32_t row = threadIdx.x / 128 * (kRows / 4) + threadIdx.x % 4 * 2;
    float* const to = values + row * kValueStride + output;
    const float low = head_bias[output], high = head_bias[output + 8];
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
  StoreQ<tile::kThreads, 2>(
      settings, buffers, values, rows.here, [&](uint32_t i) { return rows.Of(i); },
      [&](uint32_t i) -> uint32_t { return actions[i]; });
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
