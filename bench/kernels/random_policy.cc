// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/random_policy.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace vixen::bench {

RandomMarket::RandomMarket(uint32_t bars, uint32_t feature_count, uint64_t seed)
    : features(size_t{bars} * feature_count), targets(size_t{bars} * 4), last(bars) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<float> normal;
  for (float& feature : features) feature = normal(generator);
  std::vector<float> close(bars);
  double log_price = std::log(100.0);
  for (float& price : close) {
    price = static_cast<float>(std::exp(log_price));
    log_price += 5e-4 * normal(generator);
  }
  for (uint32_t b = 0; b < bars; ++b) {
    const float next = close[std::min(b + 1, bars - 1)];
    const float up = 1.0f + 2e-4f * std::fabs(normal(generator));
    const float down = 1.0f - 2e-4f * std::fabs(normal(generator));
    float* target = targets.data() + 4 * size_t{b};
    target[0] = close[b];
    target[1] = next;
    target[2] = std::max(close[b], next) * up;
    target[3] = std::min(close[b], next) * down;
  }
  last[bars - 1] = 1;
  view = {features.data(), targets.data(), last.data(), bars, feature_count, 0, bars};
}

kernels::Parameters RandomParameters(const kernels::Architecture& architecture,
                                     kernels::WeightsKind kind, uint64_t seed) {
  std::mt19937_64 generator(seed);
  kernels::Parameters parameters{architecture, kind,
                                 std::vector<float>(kernels::ParameterCount(architecture, kind))};
  for (const kernels::LayerLayout& layer : kernels::LayersOf(architecture, kind)) {
    const float bound = 1.0f / std::sqrt(static_cast<float>(layer.inputs));
    std::uniform_real_distribution<float> uniform(-bound, bound);
    const size_t end = layer.bias_offset + layer.outputs;
    for (size_t i = layer.weight_offset; i < end; ++i) parameters.values[i] = uniform(generator);
  }
  return parameters;
}

}  // namespace vixen::bench
