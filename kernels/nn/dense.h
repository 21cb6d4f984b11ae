// SPDX-License-Identifier: Apache-2.0
// One fully connected layer over a block of rows on the CPU, with the instruction set chosen at run
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <vector>

namespace vixen::kernels {

// Outputs that share one pass over the inputs.
inline constexpr size_t kPanelOutputs = 6;
// Rows of a block are a multiple of this: the lanes of the widest register.
inline constexpr size_t kRowMultiple = 16;

// Memory at cache-line addresses, as the kernels' loads want it.
template <typename T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};
  CacheLineAllocator() = default;
  template <typename U>
  CacheLineAllocator(const CacheLineAllocator<U>&) {}
  T* allocate(size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kAlignment));
  }
  void deallocate(T* memory, size_t) { ::operator delete(memory, kAlignment); }
  friend bool operator==(CacheLineAllocator, CacheLineAllocator) { return true; }
};
using AlignedFloats = std::vector<float, CacheLineAllocator<float>>;

// A layer's parameters in the order in which the kernels read them: panels of kPanelOutputs outputs
// (the last one narrower), each [inputs][panel outputs].
struct PackedLayer {
  size_t inputs = 0;
  size_t outputs = 0;
  AlignedFloats weights;
  AlignedFloats bias;
};

// From weight [outputs, inputs] row-major, into outputs [first, first + outputs) of `layer`.
PackedLayer MakePackedLayer(size_t inputs, size_t outputs);
void PackOutputs(std::span<const float> weight, std::span<const float> bias, size_t first,
                 PackedLayer& layer);
// The way back: what the kernels will read, in file order.
void UnpackOutputs(const PackedLayer& layer, size_t first, std::span<float> weight,
                   std::span<float> bias);

// out[o][r] = act(bias[o] + Σ_k weight[o][k]·in[k][r]), act = LeakyReLU of slope 0.01 if `leaky`.
// `in` is [inputs][rows], `out` [outputs][rows], both 64-byte aligned, rows a multiple of
// kRowMultiple. Every implementation gives the same bits.
struct DenseKernel {
  std::string_view name;  // "avx512", "avx2", "generic"
  void (*forward)(const PackedLayer& layer, bool leaky, const float* in, float* out, size_t rows);
};

// The implementations that this processor can run, fastest first.
std::vector<DenseKernel> AvailableDenseKernels();

void DenseForwardGeneric(const PackedLayer& layer, bool leaky, const float* in, float* out,
                         size_t rows);
void DenseForwardAvx2(const PackedLayer& layer, bool leaky, const float* in, float* out,
                      size_t rows);
void DenseForwardAvx512(const PackedLayer& layer, bool leaky, const float* in, float* out,
                        size_t rows);

}  // namespace vixen::kernels
