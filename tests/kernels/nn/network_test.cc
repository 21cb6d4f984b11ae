// SPDX-License-Identifier: Apache-2.0
#include "kernels/nn/network.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/nn/cpu_network.h"
#include "tests/kernels/test_policy.h"

namespace vixen::kernels {
namespace {

TEST(Architecture, RefusesWidthsOutsideTheTable) {
  const struct {
    const char* name;
    uint32_t Architecture::*width;
    uint32_t value;
  } faults[] = {{"features", &Architecture::features, 0},
                {"features", &Architecture::features, 254},
                {"hidden1", &Architecture::hidden1, 24},
                {"hidden2", &Architecture::hidden2, 1040},
                {"value_hidden", &Architecture::value_hidden, 0},
                {"advantage_hidden", &Architecture::advantage_hidden, 528},
                {"curiosity_hidden", &Architecture::curiosity_hidden, 272}};
  EXPECT_TRUE(Architecture().Check().ok());
  for (const auto& fault : faults) {
    Architecture architecture;
    architecture.*fault.width = fault.value;
    const absl::Status status = architecture.Check();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.ToString().find(fault.name), std::string::npos) << status;
    EXPECT_NE(status.ToString().find(std::to_string(fault.value)), std::string::npos) << status;
  }
}

TEST(Layers, HaveThePublishedShapes) {
  const std::vector<LayerLayout> layers = LayersOf(Architecture(), WeightsKind::kOnline);
  ASSERT_EQ(layers.size(), 6u);
  EXPECT_EQ(layers[0].name, "shared_layers.0");
  EXPECT_EQ(layers[0].inputs, 54u);
  EXPECT_EQ(layers[5].name, "advantage_layers.1");
  EXPECT_EQ(layers[5].outputs, 45u);
  EXPECT_EQ(ParameterCount(Architecture(), WeightsKind::kOnline),
            54u * 256 + 256 + 256 * 256 + 256 + 256 * 128 + 128 + 128 + 1 + 256 * 128 + 128 +
                128 * 45 + 45);
  Architecture narrow;
  narrow.features = 7;
  EXPECT_EQ(LayersOf(narrow, WeightsKind::kCuriosity)[0].inputs, 13u);
  EXPECT_EQ(LayersOf(narrow, WeightsKind::kCuriosity)[1].outputs, 10u);
}

TEST(ParametersSha, HashesTensorsInNameOrder) {
  const Architecture architecture = SmallArchitecture();
  const Parameters parameters = bench::RandomParameters(architecture, WeightsKind::kCuriosity, 1);
  const std::vector<LayerLayout> layers = LayersOf(architecture, WeightsKind::kCuriosity);
  base::Sha256 hash;
  const std::span<const float> values(parameters.values);
  for (const LayerLayout& layer : layers) {  // "0.bias" < "0.weight" < "1.bias" < "1.weight"
    hash.UpdateValues(values.subspan(layer.bias_offset, layer.outputs));
    hash.UpdateValues(values.subspan(layer.weight_offset, size_t{layer.inputs} * layer.outputs));
  }
  EXPECT_EQ(ParametersSha256(parameters), hash.Finish());
}

TEST(ProbeState, FollowsItsFormula) {
  const std::vector<float> state = ProbeState(54);
  EXPECT_EQ(state[0], -1.0f);
  EXPECT_EQ(state[1], 5.0f / 32.0f);
  EXPECT_EQ(state[2], -22.0f / 32.0f);
}

double LeakyRelu(double x) { return x > 0 ? x : 0.01 * x; }

std::vector<double> Dense(const Parameters& parameters, const LayerLayout& layer, bool leaky,
                          const std::vector<double>& in) {
  std::vector<double> out(layer.outputs);
  for (uint32_t o = 0; o < layer.outputs; ++o) {
    double sum = parameters.values[layer.bias_offset + o];
    for (uint32_t k = 0; k < layer.inputs; ++k) {
      sum += double{parameters.values[layer.weight_offset + o * layer.inputs + k]} * in[k];
    }
    out[o] = leaky ? LeakyRelu(sum) : sum;
  }
  return out;
}

TEST(QNetwork, AgreesWithDoublePrecisionAndReadsBack) {
  const Architecture architecture = SmallArchitecture();
  const Parameters parameters = bench::RandomParameters(architecture, WeightsKind::kTarget, 4);
  const CpuQNetwork network(parameters, AvailableMatrixKernels().front());
  EXPECT_EQ(network.ReadBack().values, parameters.values);
  EXPECT_EQ(network.ReadBack().kind, WeightsKind::kTarget);

  const std::vector<float> probe = ProbeState(architecture.state());
  AlignedFloats state(architecture.state() * kRowMultiple);
  for (size_t j = 0; j < probe.size(); ++j) state[j * kRowMultiple + 3] = probe[j];
  AlignedFloats scratch(CpuQNetwork::ScratchWidth(architecture) * kRowMultiple);
  AlignedFloats q(kActions * kRowMultiple);
  network.Forward(state.data(), kRowMultiple, scratch.data(), q.data());

  const std::vector<LayerLayout> layers = LayersOf(architecture, WeightsKind::kTarget);
  std::vector<double> h(probe.begin(), probe.end());
  h = Dense(parameters, layers[0], true, h);
  h = Dense(parameters, layers[1], true, h);
  const double value =
      Dense(parameters, layers[3], false, Dense(parameters, layers[2], true, h))[0];
  const std::vector<double> advantage =
      Dense(parameters, layers[5], false, Dense(parameters, layers[4], true, h));
  double mean = 0;
  for (const double a : advantage) mean += a / kActions;
  for (int a = 0; a < kActions; ++a) {
    EXPECT_NEAR(q[a * kRowMultiple + 3], value + advantage[a] - mean, 1e-5);
  }
}

}  // namespace
}  // namespace vixen::kernels
