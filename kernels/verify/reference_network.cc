// SPDX-License-Identifier: Apache-2.0
#include "kernels/verify/reference_network.h"

#include <algorithm>

namespace vixen::kernels {
namespace {

std::vector<double> Linear(const Parameters& parameters, const LayerLayout& layer,
                           const std::vector<double>& in, bool rectified) {
  std::vector<double> out(layer.outputs);
  for (uint32_t j = 0; j < layer.outputs; ++j) {
    double sum = parameters.values[layer.bias_offset + j];
    const float* weights = &parameters.values[layer.weight_offset + size_t{j} * layer.inputs];
    for (uint32_t i = 0; i < layer.inputs; ++i) sum += double{weights[i]} * in[i];
    out[j] = rectified && sum < 0.0 ? 0.01 * sum : sum;
  }
  return out;
}

}  // namespace

std::vector<double> ReferenceQ(const Parameters& parameters, const std::vector<LayerLayout>& layers,
                               const std::vector<double>& state) {
  const std::vector<double> trunk =
      Linear(parameters, layers[1], Linear(parameters, layers[0], state, true), true);
  const double value =
      Linear(parameters, layers[3], Linear(parameters, layers[2], trunk, true), false)[0];
  std::vector<double> q =
      Linear(parameters, layers[5], Linear(parameters, layers[4], trunk, true), false);
  double mean = 0;
  for (const double advantage : q) mean += advantage / kActions;
  for (double& advantage : q) advantage += value - mean;
  return q;
}

std::vector<double> ReferenceState(const MarketView& market, uint32_t bar, const float* portfolio) {
  const float* features = market.features + size_t{bar} * market.feature_count;
  std::vector<double> state(features, features + market.feature_count);
  state.insert(state.end(), portfolio, portfolio + kPortfolioFeatures);
  return state;
}

std::vector<double> ReferenceCuriosity(const Parameters& parameters,
                                       const std::vector<LayerLayout>& layers,
                                       const std::vector<double>& state, int category) {
  const auto embedding = static_cast<ptrdiff_t>(parameters.architecture.embedding());
  std::vector<double> input(state.begin(), state.begin() + embedding);
  for (int c = 0; c < kCategories; ++c) input.push_back(c == category ? 1.0 : 0.0);
  return Linear(parameters, layers[1], Linear(parameters, layers[0], input, true), false);
}

double LargestAllowed(const EnvSettings& settings, const std::vector<double>& q) {
  double largest = q[settings.actions[0]];
  for (int i = 1; i < settings.action_count; ++i)
    largest = std::max(largest, q[settings.actions[i]]);
  return largest;
}

}  // namespace vixen::kernels
