// SPDX-License-Identifier: Apache-2.0
#include "kernels/nn/cpu_network.h"

#include <span>
#include <vector>

#include "kernels/env/settings.h"

namespace vixen::kernels {
namespace {

std::span<const float> WeightOf(const Parameters& parameters, const LayerLayout& layer) {
  return std::span(parameters.values)
      .subspan(layer.weight_offset, size_t{layer.inputs} * layer.outputs);
}

std::span<const float> BiasOf(const Parameters& parameters, const LayerLayout& layer) {
  return std::span(parameters.values).subspan(layer.bias_offset, layer.outputs);
}

PackedLayer Packed(const Parameters& parameters, const LayerLayout& layer) {
  PackedLayer packed = MakePackedLayer(layer.inputs, layer.outputs);
  PackOutputs(WeightOf(parameters, layer), BiasOf(parameters, layer), 0, packed);
  return packed;
}

void Unpack(const PackedLayer& packed, size_t first, const LayerLayout& layer,
            Parameters& parameters) {
  const std::span<float> values(parameters.values);
  UnpackOutputs(packed, first,
                values.subspan(layer.weight_offset, size_t{layer.inputs} * layer.outputs),
                values.subspan(layer.bias_offset, layer.outputs));
}

Parameters EmptyParameters(const Architecture& architecture, WeightsKind kind) {
  return {architecture, kind, std::vector<float>(ParameterCount(architecture, kind))};
}

}  // namespace

CpuQNetwork::CpuQNetwork(const Parameters& parameters, MatrixKernel kernel)
    : architecture_(parameters.architecture), kind_(parameters.kind), kernel_(kernel) {
  const std::vector<LayerLayout> layers = LayersOf(architecture_, kind_);
  shared0_ = Packed(parameters, layers[0]);
  shared1_ = Packed(parameters, layers[1]);
  value1_ = Packed(parameters, layers[3]);
  advantage1_ = Packed(parameters, layers[5]);
  streams_ = MakePackedLayer(layers[2].inputs, layers[2].outputs + layers[4].outputs);
  PackOutputs(WeightOf(parameters, layers[2]), BiasOf(parameters, layers[2]), 0, streams_);
  PackOutputs(WeightOf(parameters, layers[4]), BiasOf(parameters, layers[4]), layers[2].outputs,
              streams_);
}

size_t CpuQNetwork::ScratchWidth(const Architecture& architecture) {
  const size_t streams = size_t{architecture.value_hidden} + architecture.advantage_hidden;
  return architecture.hidden1 + size_t{architecture.hidden2} + streams + 1;
}

void CpuQNetwork::Forward(const float* state, size_t rows, float* scratch, float* q) const {
  float* h1 = scratch;
  float* h2 = h1 + architecture_.hidden1 * rows;
  float* streams = h2 + architecture_.hidden2 * rows;
  float* value = streams + streams_.outputs * rows;
  DenseForward(kernel_, shared0_, true, state, h1, rows);
  DenseForward(kernel_, shared1_, true, h1, h2, rows);
  DenseForward(kernel_, streams_, true, h2, streams, rows);
  DenseForward(kernel_, value1_, false, streams, value, rows);
  DenseForward(kernel_, advantage1_, false, streams + architecture_.value_hidden * rows, q, rows);

  // h1 has been read for the last time.
  float* mean = h1;
  for (size_t r = 0; r < rows; ++r) mean[r] = 0.0f;
  for (int a = 0; a < kActions; ++a) {
    for (size_t r = 0; r < rows; ++r) mean[r] += q[a * rows + r];
  }
  for (size_t r = 0; r < rows; ++r) mean[r] /= static_cast<float>(kActions);
  for (int a = 0; a < kActions; ++a) {
    for (size_t r = 0; r < rows; ++r) {
      q[a * rows + r] = value[r] + q[a * rows + r] - mean[r];
    }
  }
}

Parameters CpuQNetwork::ReadBack() const {
  Parameters parameters = EmptyParameters(architecture_, kind_);
  const std::vector<LayerLayout> layers = LayersOf(architecture_, kind_);
  Unpack(shared0_, 0, layers[0], parameters);
  Unpack(shared1_, 0, layers[1], parameters);
  Unpack(streams_, 0, layers[2], parameters);
  Unpack(value1_, 0, layers[3], parameters);
  Unpack(streams_, layers[2].outputs, layers[4], parameters);
  Unpack(advantage1_, 0, layers[5], parameters);
  return parameters;
}

CpuCuriosityNetwork::CpuCuriosityNetwork(const Parameters& parameters, MatrixKernel kernel)
    : architecture_(parameters.architecture), kernel_(kernel) {
  const std::vector<LayerLayout> layers = LayersOf(architecture_, WeightsKind::kCuriosity);
  hidden_ = Packed(parameters, layers[0]);
  output_ = Packed(parameters, layers[1]);
}

size_t CpuCuriosityNetwork::ScratchWidth(const Architecture& architecture) {
  return architecture.curiosity_hidden;
}

void CpuCuriosityNetwork::Forward(const float* input, size_t rows, float* scratch,
                                  float* output) const {
  DenseForward(kernel_, hidden_, true, input, scratch, rows);
  DenseForward(kernel_, output_, false, scratch, output, rows);
}

Parameters CpuCuriosityNetwork::ReadBack() const {
  Parameters parameters = EmptyParameters(architecture_, WeightsKind::kCuriosity);
  const std::vector<LayerLayout> layers = LayersOf(architecture_, WeightsKind::kCuriosity);
  Unpack(hidden_, 0, layers[0], parameters);
  Unpack(output_, 0, layers[1], parameters);
  return parameters;
}

}  // namespace vixen::kernels
