// SPDX-License-Identifier: Apache-2.0
// One fully connected layer over a block of rows on the CPU.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/cache_line.h"
#include "kernels/nn/matrix.h"

namespace vixen::kernels {

// Outputs that share one pass over the inputs.
inline constexpr size_t kPanelOutputs = kTileRows;
// Rows of a block are a multiple of this.
inline constexpr size_t kRowMultiple = kColumnMultiple;

// At cache-line addresses, as the kernels' loads want it.
using AlignedFloats = base::CacheLineVector<float>;

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

// out[o][r] = act(bias[o] + Σ_k weight[o][k]·in[k][r]), act = LeakyReLU if `leaky`. `in` is
// [inputs][rows], `out` [outputs][rows], rows a multiple of kRowMultiple: a vector register holds
// neighbouring rows, and every layer writes what the next one reads. A row's bits depend neither on
// its place nor on the kernel.
void DenseForward(const MatrixKernel& kernel, const PackedLayer& layer, bool leaky, const float* in,
                  float* out, size_t rows);

}  // namespace vixen::kernels
