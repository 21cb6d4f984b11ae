// SPDX-License-Identifier: Apache-2.0
#include "learner/trainer/initial_weights.h"

#include <cmath>

#include "learner/replay/random.h"

namespace vixen::learner {

kernels::Parameters InitialWeights(const kernels::Architecture& architecture,
                                   kernels::WeightsKind kind, uint64_t seed) {
  kernels::Parameters parameters;
  parameters.architecture = architecture;
  parameters.kind = kind;
  parameters.values.resize(kernels::ParameterCount(architecture, kind));
  SplitMix64 random(seed);
  for (const kernels::LayerLayout& layer : kernels::LayersOf(architecture, kind)) {
    const double bound = 1.0 / std::sqrt(static_cast<double>(layer.inputs));
    const size_t weights = size_t{layer.inputs} * layer.outputs;
    for (size_t i = 0; i < weights + layer.outputs; ++i) {
      const size_t at = i < weights ? layer.weight_offset + i : layer.bias_offset + i - weights;
      parameters.values[at] = static_cast<float>(bound * (2.0 * random.Uniform() - 1.0));
    }
  }
  return parameters;
}

}  // namespace vixen::learner
