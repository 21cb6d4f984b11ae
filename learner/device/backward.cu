// SPDX-License-Identifier: Apache-2.0
// Loss and backward pass of a block's rows, down to the gradients of every layer's sums.
#include "learner/device/pass_table.cuh"
#include "learner/device/passes.cuh"

namespace vixen::learner {
namespace {

using kernels::kActions;

constexpr float kSlope = 0.01f;

// The allowed action with the largest q, the lowest of equals; a warp together.
__device__ __forceinline__ uint32_t BestAction(const float* q, uint64_t allowed) {
  const uint32_t lane = threadIdx.x % 32;
  float best = -INFINITY;
  uint32_t action = ~0u;
  for (uint32_t a = lane; a < kActions; a += 32) {
    if ((allowed >> a & 1) == 0) continue;
    if (q[a] > best || action == ~0u) {
      best = q[a];
      action = a;
    }
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(~0u, best, offset);
    const uint32_t its = __shfl_xor_sync(~0u, action, offset);
    if (its == ~0u) continue;
    if (action == ~0u || other > best || (other == best && its < action)) {
      best = other;
      action = its;
    }
  }
  return action;
}

// The double-DQN loss of one row (td_loss.h); a warp together. Returns ∂loss/∂Q of the taken
// action.
__device__ __forceinline__ float RowLoss(const UpdateSettings& settings,
                                         const UpdateBuffers& buffers, uint32_t row,
                                         LossPart& part) {
  const uint32_t lane = threadIdx.x % 32;
  const size_t plane = size_t{settings.rows} * DeviceNetwork::kHeadRows;
  const float* q = buffers.q + size_t{row} * DeviceNetwork::kHeadRows;
  const float* next = q + 2 * plane;
  const float* choose = settings.double_dqn ? q + plane : next;
  float sum = 0.0f, most = -INFINITY;
  for (uint32_t a = lane; a < kActions; a += 32) {
    if ((settings.actions >> a & 1) == 0) continue;
    sum += q[a];
    most = fmaxf(most, q[a]);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(~0u, sum, offset);
    most = fmaxf(most, __shfl_xor_sync(~0u, most, offset));
  }
  double y = buffers.reward[row];
  const float discount = buffers.discount[row];
  if (discount != 0.0f) {
    y += static_cast<double>(discount) * next[BestAction(choose, settings.actions)];
  }
  const float taken = q[buffers.action[row]];
  const double delta = taken - y, weight = buffers.weight[row];
  const double size = fabs(delta), limit = settings.huber_delta;
  const double clamped = delta > limit ? limit : delta < -limit ? -limit : delta;
  part.loss += weight * (size <= limit ? 0.5 * delta * delta : limit * (size - 0.5 * limit));
  part.abs_td += size;
  part.q += sum;
  part.max_q = most > part.max_q ? most : part.max_q;
  part.clipped += size > limit ? 1.0 : 0.0;
  part.weight += weight;
  part.weight_squares += weight * weight;
  if (lane == 0) {
    buffers.abs_td[row] = static_cast<float>(size);
    buffers.taken_q[row] = taken;
  }
  return static_cast<float>(weight * clamped / settings.batch);
}

// Grid: R/kRows blocks.
template <DevicePrecision kPrecision, int kTiles, int kRows>
__global__ void __launch_bounds__(kPassThreads)
    Backward(const __grid_constant__ DeviceNetwork network,
             const __grid_constant__ UpdateSettings settings,
             const __grid_constant__ UpdateBuffers buffers) {
  using Type = typename Operand<kPrecision>::Type;
  extern __shared__ __align__(16) char shared[];
  __shared__ LossPart parts[kPassWarps];
  const uint32_t rows = settings.rows, first = blockIdx.x * kRows;
  const uint32_t row_bytes = RowBytes<Type>(network.widest);
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;

  const auto* image = static_cast<const Type*>(buffers.online_transposed);
  Product<kPrecision, kTiles, kRows> product;
  const auto start = [&](uint32_t l) {
    const DeviceLayer& layer = network.layers[l];
    product.Start(image + layer.image, layer.inputs, layer.outputs);
  };
  start(DeviceNetwork::kLayers - 1);
  LossPart part = {};
  part.max_q = -INFINITY;
  for (uint32_t i = warp; i < kRows; i += kPassWarps) {
    const uint32_t row = first + i;
    const bool real = row < settings.batch;
    const float g = real ? RowLoss(settings, buffers, row, part) : 0.0f;
    const uint32_t taken = real ? buffers.action[row] : 0;
    // Q_a = V + A_a − mean A.
    const float others = -g / static_cast<float>(kActions);
    for (uint32_t c = lane; c < DeviceNetwork::kHeadRows; c += 32) {
      float x = 0.0f;
      if (c == 0) x = g;
      if (c > 0 && c <= kActions) x = c - 1 == taken ? g + others : others;
      SharedAt<Type>(shared, row_bytes, i, c) = Operand<kPrecision>::Round(x);
    }
  }
  if (lane == 0) parts[warp] = part;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < kPassWarps; ++w) {
      part.loss += parts[w].loss;
      part.abs_td += parts[w].abs_td;
      part.q += parts[w].q;
      part.max_q = parts[w].max_q > part.max_q ? parts[w].max_q : part.max_q;
      part.clipped += parts[w].clipped;
      part.weight += parts[w].weight;
      part.weight_squares += parts[w].weight_squares;
    }
    buffers.loss_part[blockIdx.x] = part;
  }
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
      const Type left = Operand<kPrecision>::Round(activation.x > 0.0f ? x : kSlope * x);
      const Type right = Operand<kPrecision>::Round(activation.y > 0.0f ? y : kSlope * y);
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
  return AllowShared<BackwardKernel>(network, shape, shape.backward_rows);
}

cudaError_t LaunchBackward(const DeviceNetwork& network, const PassShape& shape,
                           const UpdateSettings& settings, const UpdateBuffers& buffers,
                           cudaStream_t stream) {
  return LaunchPass<BackwardKernel>(network, shape, shape.backward_rows, 1, settings, buffers,
                                    stream);
}

}  // namespace vixen::learner
