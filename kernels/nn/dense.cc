// SPDX-License-Identifier: Apache-2.0
#include "kernels/nn/dense.h"

#include <algorithm>

namespace vixen::kernels {
namespace {

// Where weight (output, input 0) lies, and the distance to the next input.
struct Place {
  size_t offset;
  size_t stride;
};

Place PlaceOf(const PackedLayer& layer, size_t output) {
  const size_t first = output / kPanelOutputs * kPanelOutputs;
  return {first * layer.inputs + (output - first), std::min(kPanelOutputs, layer.outputs - first)};
}

}  // namespace

PackedLayer MakePackedLayer(size_t inputs, size_t outputs) {
  PackedLayer layer;
  layer.inputs = inputs;
  layer.outputs = outputs;
  layer.weights.resize(inputs * outputs);
  layer.bias.resize(outputs);
  return layer;
}

void PackOutputs(std::span<const float> weight, std::span<const float> bias, size_t first,
                 PackedLayer& layer) {
  for (size_t o = 0; o < bias.size(); ++o) {
    const Place place = PlaceOf(layer, first + o);
    for (size_t k = 0; k < layer.inputs; ++k) {
      layer.weights[place.offset + k * place.stride] = weight[o * layer.inputs + k];
    }
    layer.bias[first + o] = bias[o];
  }
}

void UnpackOutputs(const PackedLayer& layer, size_t first, std::span<float> weight,
                   std::span<float> bias) {
  for (size_t o = 0; o < bias.size(); ++o) {
    const Place place = PlaceOf(layer, first + o);
    for (size_t k = 0; k < layer.inputs; ++k) {
      weight[o * layer.inputs + k] = layer.weights[place.offset + k * place.stride];
    }
    bias[o] = layer.bias[first + o];
  }
}

void DenseForward(const MatrixKernel& kernel, const PackedLayer& layer, bool leaky, const float* in,
                  float* out, size_t rows) {
  for (size_t first = 0; first < layer.outputs; first += kPanelOutputs) {
    const size_t outputs = std::min(kPanelOutputs, layer.outputs - first);
    kernel.multiply({.a = layer.weights.data() + first * layer.inputs,
                     .a_row = 1,
                     .a_step = outputs,
                     .b = in,
                     .b_row = rows,
                     .c = out + first * rows,
                     .c_row = rows,
                     .rows = outputs,
                     .columns = rows,
                     .inner = layer.inputs,
                     .row_bias = layer.bias.data() + first,
                     .leaky = leaky});
  }
}

}  // namespace vixen::kernels
