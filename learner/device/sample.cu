// SPDX-License-Identifier: Apache-2.0
// Drawing and gathering, a warp a row.
#include <cuda_runtime.h>

#include "learner/device/operand.cuh"
#include "learner/device/sum_tree.cuh"

namespace vixen::learner {
namespace {

using kernels::kPortfolioFeatures;

// The k-th number after the state, k from 0: the same sequence as SplitMix64 of random.h.
__device__ __forceinline__ double Uniform(uint64_t state, uint64_t k) {
  uint64_t z = state + (k + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1.0p-53;
}

struct Drawn {
  uint32_t slot;
  float weight;
};

__device__ __forceinline__ Drawn Draw(const ReplayView& replay, const UpdateControl& control,
                                      uint32_t batch, uint32_t row, uint32_t index) {
  const SumTreeView& tree = replay.tree;
  const ReplaySettings& settings = replay.settings;
  NodeValue child[4];
  LoadChildren(tree, tree.level_count, 0, child);
  const NodeValue root =
      WarpCombine(Combine(Combine(child[0], child[1]), Combine(child[2], child[3])));
  const double part = (row + Uniform(control.sampler, uint64_t{index} * batch + row)) / batch;
  if (!(root.sum > 0.0)) {
    const auto size = static_cast<double>(control.size);
    const auto slot = static_cast<uint64_t>(part * size);
    return {static_cast<uint32_t>(slot < control.size ? slot : control.size - 1), 1.0f};
  }
  double u = part * root.sum;
  uint32_t node = 0;
  for (uint32_t level = tree.level_count;; --level) {
    node = node * SumTreeView::kFanOut + ChooseChild(child, u);
    if (level == 0) break;
    LoadChildren(tree, level - 1, node, child);
  }
  const double leaf = tree.leaves[node];
  const double least = control.least_share > 0.0 ? control.least_share * root.sum : root.least;
  double weight = 1.0;
  if (leaf != least) {
    const double progress = fmin(1.0, static_cast<double>(control.updates + index) /
                                          static_cast<double>(settings.beta_updates));
    const double beta = settings.beta_start + progress * (settings.beta_end - settings.beta_start);
    weight = fmin(1.0, pow(least / leaf, beta));
  }
  return {node, static_cast<float>(weight)};
}

template <DevicePrecision kPrecision>
__device__ __forceinline__ void WriteState(typename Operand<kPrecision>::Type* to, uint32_t width,
                                           const float* features, uint32_t count, uint32_t bar,
                                           float p0, float p1, float p2) {
  for (uint32_t c = threadIdx.x % 32; c < width; c += 32) {
    float x = 0.0f;
    if (c < count) {
      x = features[size_t{bar} * count + c];
    } else if (c < count + kPortfolioFeatures) {
      x = c == count ? p0 : c == count + 1 ? p1 : p2;
    }
    to[c] = Operand<kPrecision>::Round(x);
  }
}

static_assert(sizeof(ReplayRow) == 60, "15 words, which lanes 0 … 14 read");

template <DevicePrecision kPrecision>
__global__ void __launch_bounds__(kTreeThreads)
    SampleRows(ReplayView replay, DeviceNetwork network, UpdateSettings settings,
               UpdateBuffers buffers, uint32_t index) {
  using Type = typename Operand<kPrecision>::Type;
  const UpdateControl& control = *buffers.control;
  if (control.failed != 0) return;  // the minibatch that failed stays
  const uint32_t row = blockIdx.x * (kTreeThreads / 32) + threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  if (row >= settings.batch) return;
  const Drawn drawn = Draw(replay, control, settings.batch, row, index);

  const auto* words = reinterpret_cast<const uint32_t*>(replay.rows + drawn.slot);
  const uint32_t word = lane < 15 ? words[lane] : 0;
  const auto number = [&](int at) { return __uint_as_float(__shfl_sync(~0u, word, at)); };
  const uint32_t bar = __shfl_sync(~0u, word, 0), bootstrap_bar = __shfl_sync(~0u, word, 1);
  const uint32_t width = network.layers[0].inputs;
  auto* states = static_cast<Type*>(buffers.states);
  WriteState<kPrecision>(states + size_t{row} * width, width, replay.features, network.features,
                         bar, number(2), number(3), number(4));
  WriteState<kPrecision>(states + size_t{settings.rows + row} * width, width, replay.features,
                         network.features, bootstrap_bar, number(8), number(9), number(10));
  const float reward = number(11), discount = number(12);
  const uint32_t action = __shfl_sync(~0u, word, 14) & 0xFF;
  if (lane != 0) return;
  buffers.slot[row] = drawn.slot;
  const uint64_t oldest = control.inserted - control.size;
  const uint64_t capacity = replay.settings.capacity;
  buffers.generation[row] = oldest + (drawn.slot + capacity - oldest % capacity) % capacity;
  buffers.weight[row] = drawn.weight;
  const bool spoiled = row == 0 && control.spoiled == control.updates + index + 1;
  buffers.reward[row] = spoiled ? NAN : reward;
  buffers.discount[row] = discount;
  buffers.action[row] = static_cast<uint8_t>(action);
}

__global__ void CollectRows(ReplayView replay, uint32_t batch, const uint32_t* slot,
                            ReplayRow* to) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= batch * 15) return;
  reinterpret_cast<uint32_t*>(to)[i] =
      reinterpret_cast<const uint32_t*>(replay.rows + slot[i / 15])[i % 15];
}

}  // namespace

cudaError_t LaunchSample(const ReplayView& replay, const DeviceNetwork& network,
                         DevicePrecision precision, const UpdateSettings& settings,
                         const UpdateBuffers& buffers, uint32_t index, cudaStream_t stream) {
  const uint32_t blocks = (settings.batch + kTreeThreads / 32 - 1) / (kTreeThreads / 32);
  switch (precision) {
    case DevicePrecision::kFp32:
      SampleRows<DevicePrecision::kFp32>
          <<<blocks, kTreeThreads, 0, stream>>>(replay, network, settings, buffers, index);
      break;
    case DevicePrecision::kTf32:
      SampleRows<DevicePrecision::kTf32>
          <<<blocks, kTreeThreads, 0, stream>>>(replay, network, settings, buffers, index);
      break;
    case DevicePrecision::kBf16:
      SampleRows<DevicePrecision::kBf16>
          <<<blocks, kTreeThreads, 0, stream>>>(replay, network, settings, buffers, index);
      break;
  }
  return cudaGetLastError();
}

cudaError_t LaunchCollectRows(const ReplayView& replay, const UpdateSettings& settings,
                              const UpdateBuffers& buffers, ReplayRow* to, cudaStream_t stream) {
  const uint32_t words = settings.batch * 15;
  CollectRows<<<(words + 255) / 256, 256, 0, stream>>>(replay, settings.batch, buffers.slot, to);
  return cudaGetLastError();
}

}  // namespace vixen::learner
