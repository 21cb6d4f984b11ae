// SPDX-License-Identifier: Apache-2.0
#include "kernels/nn/network.h"

#include <algorithm>

#include "base/str_cat.h"
#include "kernels/env/settings.h"

namespace vixen::kernels {
namespace {

absl::Status CheckWidth(std::string_view name, uint32_t value, uint32_t least, uint32_t most,
                        uint32_t multiple) {
  if (value >= least && value <= most && value % multiple == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat(name, " = ", value, " is outside ", least, " … ", most,
                   multiple > 1 ? base::StrCat(" in multiples of ", multiple) : std::string()));
}

}  // namespace

std::string_view WeightsKindName(WeightsKind kind) {
  switch (kind) {
    case WeightsKind::kOnline:
      return "online";
    case WeightsKind::kTarget:
      return "target";
    case WeightsKind::kCuriosity:
      return "curiosity";
  }
  return "unknown";
}

absl::Status Architecture::Check() const {
  struct Width {
    std::string_view name;
    uint32_t value, least, most, multiple;
  };
  const Width widths[] = {
      {"features", features, 1, 253, 1},
      {"hidden1", hidden1, 16, 1024, 16},
      {"hidden2", hidden2, 16, 1024, 16},
      {"value_hidden", value_hidden, 16, 512, 16},
      {"advantage_hidden", advantage_hidden, 16, 512, 16},
      {"curiosity_hidden", curiosity_hidden, 16, 256, 16},
  };
  for (const Width& width : widths) {
    absl::Status status =
        CheckWidth(width.name, width.value, width.least, width.most, width.multiple);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

std::string Architecture::Describe() const {
  return base::StrCat(features, "+3-", hidden1, "-", hidden2, "/", value_hidden, ",",
                      advantage_hidden, " curiosity ", curiosity_hidden);
}

std::vector<LayerLayout> LayersOf(const Architecture& architecture, WeightsKind kind) {
  std::vector<LayerLayout> layers;
  size_t offset = 0;
  const auto add = [&](std::string name, uint32_t inputs, uint32_t outputs) {
    LayerLayout layer;
    layer.name = std::move(name);
    layer.inputs = inputs;
    layer.outputs = outputs;
    layer.weight_offset = offset;
    layer.bias_offset = offset + size_t{inputs} * outputs;
    offset = layer.bias_offset + outputs;
    layers.push_back(std::move(layer));
  };
  if (kind == WeightsKind::kCuriosity) {
    const uint32_t embedding = architecture.embedding();
    add("0", embedding + kCategories, architecture.curiosity_hidden);
    add("1", architecture.curiosity_hidden, embedding);
  } else {
    add("shared_layers.0", architecture.state(), architecture.hidden1);
    add("shared_layers.1", architecture.hidden1, architecture.hidden2);
    add("value_layers.0", architecture.hidden2, architecture.value_hidden);
    add("value_layers.1", architecture.value_hidden, 1);
    add("advantage_layers.0", architecture.hidden2, architecture.advantage_hidden);
    add("advantage_layers.1", architecture.advantage_hidden, kActions);
  }
  return layers;
}

size_t ParameterCount(const Architecture& architecture, WeightsKind kind) {
  const std::vector<LayerLayout> layers = LayersOf(architecture, kind);
  return layers.back().bias_offset + layers.back().outputs;
}

base::Sha256Digest ParametersSha256(const Parameters& parameters) {
  struct Tensor {
    std::string name;
    std::span<const float> values;
  };
  std::vector<Tensor> tensors;
  const std::span<const float> values(parameters.values);
  for (const LayerLayout& layer : LayersOf(parameters.architecture, parameters.kind)) {
    tensors.push_back({layer.name + ".weight",
                       values.subspan(layer.weight_offset, size_t{layer.inputs} * layer.outputs)});
    tensors.push_back({layer.name + ".bias", values.subspan(layer.bias_offset, layer.outputs)});
  }
  std::sort(tensors.begin(), tensors.end(),
            [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  base::Sha256 hash;
  for (const Tensor& tensor : tensors) hash.UpdateValues(tensor.values);
  return hash.Finish();
}

std::vector<float> ProbeState(uint32_t state_width) {
  std::vector<float> state(state_width);
  for (uint32_t j = 0; j < state_width; ++j) {
    state[j] = (static_cast<float>(j * 37 % 64) - 32.0f) / 32.0f;
  }
  return state;
}

}  // namespace vixen::kernels
