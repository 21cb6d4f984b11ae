// SPDX-License-Identifier: Apache-2.0
#include "learner/device/network_layout.h"

#include <algorithm>

#include "learner/device/tile_layout.h"

namespace vixen::learner {
namespace {

uint32_t Padded(uint32_t width) { return (width + 15) / 16 * 16; }
// What an operand image may pad a width to, with zeros.

// Calls `visit(place in the contract, place here, count)` for every run of parameters.
template <typename Visit>
void ForEachRun(const DeviceNetwork& network, const kernels::Architecture& architecture,
                Visit&& visit) {
  const std::vector<kernels::LayerLayout> layers =
      kernels::LayersOf(architecture, kernels::WeightsKind::kOnline);
  const auto layer = [&](size_t contract, const DeviceLayer& to, uint32_t row, uint32_t column) {
    const kernels::LayerLayout& from = layers[contract];
    for (uint32_t i = 0; i < from.outputs; ++i) {
      visit(from.weight_offset + size_t{i} * from.inputs,
            to.weight + size_t{row + i} * to.inputs + column, from.inputs);
    }
    visit(from.bias_offset, size_t{to.bias} + row, from.outputs);
  };
  layer(0, network.layers[0], 0, 0);
  layer(1, network.layers[1], 0, 0);
  layer(2, network.layers[2], 0, 0);                     // value stream, hidden
  layer(4, network.layers[2], network.value_hidden, 0);  // advantage stream, hidden
  layer(3, network.layers[3], 0, 0);
  layer(5, network.layers[3], 1, network.value_hidden);
}

}  // namespace

DeviceNetwork DeviceNetworkOf(const kernels::Architecture& architecture) {
  DeviceNetwork network;
  network.features = architecture.features;
  network.state = architecture.state();
  network.value_hidden = architecture.value_hidden;
  network.advantage_hidden = architecture.advantage_hidden;
  const uint32_t widths[DeviceNetwork::kLayers + 1] = {
      Padded(architecture.state()), Padded(architecture.hidden1), Padded(architecture.hidden2),
      Padded(architecture.value_hidden + architecture.advantage_hidden), DeviceNetwork::kHeadRows};
  for (uint32_t l = 0; l < DeviceNetwork::kLayers; ++l) {
    DeviceLayer& layer = network.layers[l];
    layer.inputs = widths[l];
    layer.outputs = widths[l + 1];
    layer.weight = network.parameters;
    layer.bias = layer.weight + layer.inputs * layer.outputs;
    layer.image = network.image_elements;
    network.parameters = layer.bias + layer.outputs;
    network.image_elements +=
        tile::PaddedFeatures(layer.inputs) * tile::PaddedFeatures(layer.outputs);
    network.widest = std::max(network.widest, layer.inputs);
  }
  return network;
}

std::vector<float> ToDeviceLayout(const DeviceNetwork& network, const kernels::Parameters& from) {
  std::vector<float> to(network.parameters, 0.0f);
  ForEachRun(network, from.architecture, [&](size_t contract, size_t here, size_t count) {
    std::copy_n(from.values.data() + contract, count, to.data() + here);
  });
  return to;
}

kernels::Parameters FromDeviceLayout(const DeviceNetwork& network, const float* from,
                                     const kernels::Architecture& architecture,
                                     kernels::WeightsKind kind) {
  kernels::Parameters to;
  to.architecture = architecture;
  to.kind = kind;
  to.values.resize(kernels::ParameterCount(architecture, kind));
  ForEachRun(network, architecture, [&](size_t contract, size_t here, size_t count) {
    std::copy_n(from + here, count, to.values.data() + contract);
  });
  return to;
}

}  // namespace vixen::learner
