// SPDX-License-Identifier: Apache-2.0
// Loss and backward pass of a block's rows, down to the gradients of every layer's sums.
#include "learner/device/head.cuh"
#include "learner/device/loss.cuh"
#include "learner/device/pass_table.cuh"
#include "learner/device/passes.cuh"
#include "learner/device/tile_table.cuh"

namespace vixen::learner {
namespace {

// Grid: R/kRows blocks.
template <DevicePrecision kPrecision, int kTiles, int kRows>
__global__ void __launch_bounds__(kPassThreads)
    Backward(const __grid_constant__ DeviceNetwork network,
             const __grid_constant__ UpdateSettings settings,
             const __grid_constant__ UpdateBuffers buffers) {
  using Type = typename Operand<kPrecision>::Type;
  extern __shared__ __align__(16) char shared[];
  __shared__ BlockLoss<kRows> loss;
  const uint32_t rows = settings.rows, first = blockIdx.x * kRows;
  const uint32_t row_bytes = RowBytes<Type>(network.widest);

  const auto loss_rows = LoadLossRows<kRows, kPassThreads>(settings, buffers, first);
  const auto* image = static_cast<const Type*>(buffers.online_transposed);
  Product<kPrecision, kTiles, kRows> product;
  const auto start = [&](uint32_t l) {
    const DeviceLayer& layer = network.layers[l];
    product.Start(image + layer.image, layer.inputs, layer.outputs);
  };
  start(DeviceNetwork::kLayers - 1);
  const LossPart part = LossOfRows<kRows, kPassThreads>(settings, buffers, first, loss_rows, loss);
  __syncthreads();
  StoreLossGradient<kRows, kPassThreads>(loss, [&](uint32_t row, uint32_t column, float x) {
    SharedAt<Type>(shared, row_bytes, row, column) = Operand<kPrecision>::Round(x);
  });
  __syncthreads();
  StoreLossPart<kPassThreads>(buffers, part);
  auto* top = static_cast<Type*>(buffers.gradient_of[DeviceNetwork::kLayers - 1]);
  for (uint32_t i = threadIdx.x; i < kRows * DeviceNetwork::kHeadRows; i += kPassThreads) {
    const uint32_t row = i % kRows, column = i / kRows;
    top[size_t{column} * rows + first + row] = SharedAt<Type>(shared, row_bytes, row, column);
  }

#pragma unroll 1
  for (uint32_t l = DeviceNetwork::kLayers - 1; l > 0; --l) {
    const DeviceLayer layer = network.layers[l];
    product.Run(shared, row_bytes);
    if (l > 1) start(l - 1);
    __syncthreads();
    const auto* input = static_cast<const Type*>(buffers.input[l]);
    auto* to = static_cast<Type*>(buffers.gradient_of[l - 1]);
    product.ForEach(layer.inputs, [&](uint32_t output, uint32_t row, float x, float y) {
      const size_t at = size_t{output} * rows + first + row;
      const float2 activation = LoadPair(input + at);
      const Type left = Operand<kPrecision>::Round(activation.x > 0.0f ? x : kLeakySlope * x);
      const Type right = Operand<kPrecision>::Round(activation.y > 0.0f ? y : kLeakySlope * y);
      SharedAt<Type>(shared, row_bytes, row, output) = left;
      SharedAt<Type>(shared, row_bytes, row + 1, output) = right;
      StorePair(to + at, left, right);
    });
    __syncthreads();
  }
}

struct BackwardKernel {
  template <DevicePrecision kPrecision, int kTiles, int kRows>
  static auto Get() {
    return &Backward<kPrecision, kTiles, kRows>;
  }
};

}  // namespace

cudaError_t PrepareBackward(const DeviceNetwork& network, const PassShape& shape) {
  if (shape.wgmma) return PrepareBackwardTiles(network, shape);
  return AllowShared<BackwardKernel>(network, shape, shape.backward_rows);
}

cudaError_t LaunchBackward(const DeviceNetwork& network, const PassShape& shape,
                           const UpdateSettings& settings, const UpdateBuffers& buffers,
                           cudaStream_t stream) {
  if (shape.wgmma) return LaunchBackwardTiles(network, shape, settings, buffers, stream);
  return LaunchPass<BackwardKernel>(network, shape, shape.backward_rows, 1, settings, buffers,
                                    stream);
}

}  // namespace vixen::learner
