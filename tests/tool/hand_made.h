// SPDX-License-Identifier: Apache-2.0
// Small datasets and weights made by hand.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "kernels/nn/network.h"
#include "market/dataset.h"

namespace vixen::tool {

// Daily bars with the given closes, a segment each; one feature, 0. High and low of a bar are its
// close.
inline market::Dataset::Parts DailyParts(const std::vector<std::vector<double>>& segments) {
  market::Dataset::Parts parts;
  parts.feature_names = {"zero"};
  parts.scaler = {.mean = {0}, .scale = {1}};
  parts.source = "made by hand";
  for (const std::vector<double>& closes : segments) {
    for (size_t i = 0; i < closes.size(); ++i) {
      const auto close = static_cast<float>(closes[i]);
      const auto next = static_cast<float>(closes[i + 1 < closes.size() ? i + 1 : i]);
      parts.timestamp.push_back(static_cast<int64_t>(parts.last.size()) * 86'400'000'000'000);
      parts.targets.insert(parts.targets.end(), {close, next, next, next});
      parts.features.push_back(0);
      parts.last.push_back(i + 1 == closes.size());
    }
  }
  return parts;
}

inline std::shared_ptr<const market::Dataset> DailyDataset(
    const std::vector<std::vector<double>>& segments) {
  return market::Dataset::Create(DailyParts(segments)).value();
}

inline kernels::Architecture SmallArchitecture(uint32_t features) {
  return {.features = features,
          .hidden1 = 16,
          .hidden2 = 16,
          .value_hidden = 16,
          .advantage_hidden = 16,
          .curiosity_hidden = 16};
}

// Always prefers `action`: all weights 0, the advantage's bias decides.
inline kernels::PolicyWeights ConstantPolicy(uint32_t features, int action) {
  kernels::PolicyWeights weights;
  for (auto [kind, parameters] :
       {std::pair(kernels::WeightsKind::kOnline, &weights.online),
        std::pair(kernels::WeightsKind::kTarget, &weights.target),
        std::pair(kernels::WeightsKind::kCuriosity, &weights.curiosity)}) {
    parameters->architecture = SmallArchitecture(features);
    parameters->kind = kind;
    parameters->values.assign(kernels::ParameterCount(parameters->architecture, kind), 0.0f);
  }
  for (const kernels::LayerLayout& layer :
       kernels::LayersOf(weights.online.architecture, kernels::WeightsKind::kOnline)) {
    if (layer.name != "advantage_layers.1") continue;
    weights.online.values[layer.bias_offset + static_cast<size_t>(action)] = 1;
  }
  weights.target.values = weights.online.values;
  weights.online_version = weights.target_version = weights.curiosity_version = 1;
  return weights;
}

}  // namespace vixen::tool
