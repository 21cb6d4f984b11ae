// SPDX-License-Identifier: Apache-2.0
// The forward passes: the online network over s and over the bootstrap states, the target network
// over the bootstrap states, all layers of a block's rows in one kernel.
#include "learner/device/head.cuh"
#include "learner/device/pass_table.cuh"
#include "learner/device/passes.cuh"
#include "learner/device/tile_table.cuh"

namespace vixen::learner {
namespace {

// Grid: parts · R/kRows blocks; part 0 is s, 1 the bootstrap states, both online, 2 the target.
template <DevicePrecision kPrecision, int kTiles, int kRows>
__global__ void __launch_bounds__(kPassThreads)
    Forward(const __grid_constant__ DeviceNetwork network,
            const __grid_constant__ UpdateSettings settings,
            const __grid_constant__ UpdateBuffers buffers) {
  using Type = typename Operand<kPrecision>::Type;
  extern __shared__ __align__(16) char shared[];
  const uint32_t rows = settings.rows, blocks = rows / kRows;
  uint32_t part = blockIdx.x / blocks;
  if (part == 1 && !settings.double_dqn) part = 2;
  const uint32_t first = blockIdx.x % blocks * kRows;
  const uint32_t row_bytes = RowBytes<Type>(network.widest);
  const auto* image =
      static_cast<const Type*>(part == 2 ? buffers.target_image : buffers.online_image);
  const float* parameters = part == 2 ? buffers.target : buffers.online;

  const uint32_t width = network.layers[0].inputs;
  const uint32_t units = width * static_cast<uint32_t>(sizeof(Type)) / 16;  // 16 bytes each
  const auto* states = static_cast<const char*>(buffers.states) +
                       size_t{(part == 0 ? 0 : rows) + first} * width * sizeof(Type);
  for (uint32_t i = threadIdx.x; i < kRows * units; i += kPassThreads) {
    CopyToShared(shared + i / units * row_bytes + i % units * 16, states + size_t{i} * 16);
  }
  CloseCopies();
  Product<kPrecision, kTiles, kRows> product;
  const auto start = [&](uint32_t l) {
    const DeviceLayer& layer = network.layers[l];
    product.Start(image + layer.image, layer.outputs, layer.inputs);
  };
  start(0);
  WaitForCopies<0>();
  __syncthreads();
  if (part == 0) {
    auto* to = static_cast<Type*>(buffers.input[0]);
    for (uint32_t i = threadIdx.x; i < kRows * width; i += kPassThreads) {
      const uint32_t row = i % kRows, column = i / kRows;
      to[size_t{column} * rows + first + row] = SharedAt<Type>(shared, row_bytes, row, column);
    }
  }

#pragma unroll 1
  for (uint32_t l = 0; l + 1 < DeviceNetwork::kLayers; ++l) {
    const DeviceLayer layer = network.layers[l];
    product.Run(shared, row_bytes);
    start(l + 1);
    __syncthreads();  // every warp has read the inputs that the outputs overwrite
    auto* to = static_cast<Type*>(buffers.input[l + 1]);
    product.ForEach(layer.outputs, [&](uint32_t output, uint32_t row, float x, float y) {
      const float bias = parameters[layer.bias + output];
      x += bias;
      y += bias;
      const Type left = Operand<kPrecision>::Round(fmaxf(x, kLeakySlope * x));
      const Type right = Operand<kPrecision>::Round(fmaxf(y, kLeakySlope * y));
      SharedAt<Type>(shared, row_bytes, row, output) = left;
      SharedAt<Type>(shared, row_bytes, row + 1, output) = right;
      if (part == 0) StorePair(to + size_t{output} * rows + first + row, left, right);
    });
    __syncthreads();
  }

  const DeviceLayer head = network.layers[DeviceNetwork::kLayers - 1];
  product.Run(shared, row_bytes);
  __syncthreads();
  auto* const values = reinterpret_cast<float*>(shared);  // [kRows, kValueStride]: V, A_0 …
  product.ForEach(head.outputs, [&](uint32_t output, uint32_t row, float x, float y) {
    const float bias = parameters[head.bias + output];
    values[row * kValueStride + output] = x + bias;
    values[(row + 1) * kValueStride + output] = y + bias;
  });
  __syncthreads();
  StoreQ<kPassThreads, 8>(
      settings, buffers, values, kRows,
      [&](uint32_t i) {
        return QRow{part, first + i};
      },
      [&](uint32_t i) -> uint32_t { return buffers.action[first + i]; });
}

struct ForwardKernel {
  template <DevicePrecision kPrecision, int kTiles, int kRows>
  static auto Get() {
    return &Forward<kPrecision, kTiles, kRows>;
  }
};

}  // namespace

cudaError_t PrepareForward(const DeviceNetwork& network, const PassShape& shape) {
  if (shape.wgmma) return PrepareForwardTiles(network, shape);
  return AllowShared<ForwardKernel>(network, shape, shape.forward_rows);
}

cudaError_t PreparePasses(const DeviceNetwork& network, const PassShape& shape) {
  for (const auto prepare : {PrepareForward, PrepareBackward, PrepareWeightGradients}) {
    const cudaError_t error = prepare(network, shape);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t LaunchForward(const DeviceNetwork& network, const PassShape& shape,
                          const UpdateSettings& settings, const UpdateBuffers& buffers,
                          cudaStream_t stream) {
  if (shape.wgmma) return LaunchForwardTiles(network, shape, settings, buffers, stream);
  const uint32_t parts = settings.double_dqn ? 3 : 2;
  return LaunchPass<ForwardKernel>(network, shape, shape.forward_rows, parts, settings, buffers,
                                   stream);
}

}  // namespace vixen::learner
