// SPDX-License-Identifier: Apache-2.0
#include "learner/weights/probe.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "kernels/env/settings.h"

namespace vixen::learner {
namespace {

std::vector<double> Apply(const kernels::Parameters& parameters, const kernels::LayerLayout& layer,
                          const std::vector<double>& input, bool activate) {
  std::vector<double> output(layer.outputs);
  for (uint32_t o = 0; o < layer.outputs; ++o) {
    const float* weight = parameters.values.data() + layer.weight_offset + size_t{o} * layer.inputs;
    double sum = parameters.values[layer.bias_offset + o];
    for (uint32_t i = 0; i < layer.inputs; ++i) sum += weight[i] * input[i];
    output[o] = activate && sum < 0 ? 0.01 * sum : sum;
  }
  return output;
}

}  // namespace

std::vector<double> ProbeOutputs(const kernels::Parameters& parameters) {
  const std::vector<float> probe = kernels::ProbeState(parameters.architecture.state());
  const std::vector<kernels::LayerLayout> layers =
      kernels::LayersOf(parameters.architecture, parameters.kind);
  if (parameters.kind == kernels::WeightsKind::kCuriosity) {
    std::vector<double> input(probe.begin(), probe.begin() + parameters.architecture.embedding());
    input.insert(input.end(), {0.0, 1.0, 0.0});
    return Apply(parameters, layers[1], Apply(parameters, layers[0], input, true), false);
  }
  const std::vector<double> state(probe.begin(), probe.end());
  const std::vector<double> hidden =
      Apply(parameters, layers[1], Apply(parameters, layers[0], state, true), true);
  const double value =
      Apply(parameters, layers[3], Apply(parameters, layers[2], hidden, true), false)[0];
  std::vector<double> q =
      Apply(parameters, layers[5], Apply(parameters, layers[4], hidden, true), false);
  double mean = 0;
  for (double advantage : q) mean += advantage / kernels::kActions;
  for (double& x : q) x += value - mean;
  return q;
}

absl::Status CheckProbe(std::span<const double> expected, std::span<const float> answered,
                        v1::Precision precision) {
  if (answered.size() != expected.size()) {
    return absl::DataLossError(
        absl::StrFormat("probe has %d values, expected %d", answered.size(), expected.size()));
  }
  const auto [least, most] = std::minmax_element(expected.begin(), expected.end());
  for (size_t i = 0; i < expected.size(); ++i) {
    const double tolerance = precision == v1::PRECISION_FP32 ? 1e-3 + 1e-4 * std::abs(expected[i])
                                                             : 2e-3 * (*most - *least);
    // Not `>`: a NaN must fail.
    if (!(std::abs(answered[i] - expected[i]) <= tolerance)) {
      return absl::DataLossError(
          absl::StrFormat("probe value %d is %g on the actor's device (%s), %g here; tolerance %g",
                          i, answered[i], v1::Precision_Name(precision), expected[i], tolerance));
    }
  }
  return absl::OkStatus();
}

}  // namespace vixen::learner
