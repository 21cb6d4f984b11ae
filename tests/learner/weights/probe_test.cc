// SPDX-License-Identifier: Apache-2.0
#include "learner/weights/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "kernels/env/settings.h"
#include "learner/trainer/initial_weights.h"

namespace vixen::learner {
namespace {

using kernels::WeightsKind;

kernels::Architecture Small() {
  return {.features = 5, .hidden1 = 16, .hidden2 = 16, .value_hidden = 16, .advantage_hidden = 16};
}

TEST(Probe, GivesTheValueAloneWhenTheAdvantagesAreEqual) {
  kernels::Parameters parameters = InitialWeights(Small(), WeightsKind::kOnline, 1);
  const kernels::LayerLayout out = kernels::LayersOf(Small(), WeightsKind::kOnline)[5];
  for (size_t i = 0; i < size_t{out.inputs} * out.outputs; ++i)
    parameters.values[out.weight_offset + i] = 0;
  for (size_t i = 0; i < out.outputs; ++i) parameters.values[out.bias_offset + i] = 7;
  const std::vector<double> q = ProbeOutputs(parameters);
  ASSERT_EQ(q.size(), static_cast<size_t>(kernels::kActions));
  for (double x : q) EXPECT_NEAR(x, q[0], 1e-12);
}

TEST(Probe, IsTheBiasOfAnAllZeroNetwork) {
  kernels::Parameters parameters = InitialWeights(Small(), WeightsKind::kOnline, 1);
  std::fill(parameters.values.begin(), parameters.values.end(), 0.0f);
  parameters.values[kernels::LayersOf(Small(), WeightsKind::kOnline)[3].bias_offset] = 2.5f;
  EXPECT_THAT(ProbeOutputs(parameters), testing::Each(testing::DoubleEq(2.5)));
}

TEST(Probe, HasAnOutputForEachEntryOfTheEmbedding) {
  EXPECT_EQ(ProbeOutputs(InitialWeights(Small(), WeightsKind::kCuriosity, 1)).size(), 8u);
}

TEST(CheckProbe, TakesWhatIsWithinTheTolerance) {
  const std::vector<double> expected = {10, -1, 0};
  EXPECT_TRUE(
      CheckProbe(expected, std::vector<float>{10.0019f, -1, 0.0009f}, v1::PRECISION_FP32).ok());
  EXPECT_TRUE(CheckProbe(expected, std::vector<float>{10.02f, -1, 0}, v1::PRECISION_TF32).ok());
}

TEST(CheckProbe, RefusesWhatIsNotAndNamesTheEntry) {
  const std::vector<double> expected = {10, -1, 0};
  for (const std::vector<float>& answered :
       {std::vector<float>{10, -1.01f, 0},
        std::vector<float>{10, std::numeric_limits<float>::quiet_NaN(), 0}}) {
    const absl::Status status = CheckProbe(expected, answered, v1::PRECISION_FP32);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(status.message(), testing::HasSubstr("probe value 1"));
  }
  EXPECT_EQ(CheckProbe(expected, std::vector<float>{10.05f, -1, 0}, v1::PRECISION_FP16).code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(CheckProbe(expected, std::vector<float>{10}, v1::PRECISION_FP32).code(),
            absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace vixen::learner
