// SPDX-License-Identifier: Apache-2.0
// Which algorithm a CUDA executor runs and why, on machines without a GPU as well.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/collect/cuda_choice.h"
#include "kernels/collect/cuda_range.h"

namespace vixen::kernels {
namespace {

TEST(CudaRange, BoundsTheSumsOfARealState) {
  Parameters parameters{Architecture{}, WeightsKind::kOnline, {}};
  parameters.values.assign(ParameterCount(parameters.architecture, parameters.kind), 0.25f);
  const StateRange states{64.0f, 80.0f};
  const NetworkRange range = RangeOfNetwork(parameters, states);
  // A neuron of layer 0: norm of 54 weights of 1/4, times 80, and the bias.
  EXPECT_NEAR(range.sums[0], 0.25 * std::sqrt(54.0) * 80 + 0.25, 1e-3);
  EXPECT_GT(range.sums[1], range.sums[0]);
  EXPECT_DOUBLE_EQ(range.largest_parameter, 0.25);
}

TEST(CudaRange, SaysWhichOperandsHoldTheActivations) {
  Parameters parameters{Architecture{}, WeightsKind::kOnline, {}};
  parameters.values.assign(ParameterCount(parameters.architecture, parameters.kind), 0.001f);
  const StateRange states;
  EXPECT_TRUE(FitsFp16(RangeOfNetwork(parameters, states), states));
  parameters.values[0] = 70'000.0f;
  const NetworkRange large = RangeOfNetwork(parameters, states);
  EXPECT_FALSE(FitsFp16(large, states));
  EXPECT_TRUE(FitsTf32(large, states));
  EXPECT_TRUE(FitsScaledFp16(large, states));
  parameters.values[0] = 1e10f;
  EXPECT_FALSE(FitsScaledFp16(RangeOfNetwork(parameters, states), states));
  parameters.values[0] = 1e31f;
  EXPECT_FALSE(FitsTf32(RangeOfNetwork(parameters, states), states));
}

TEST(CudaRange, ScalesToTheTopOfFp16) {
  for (const double largest : {1e-3, 0.99, 1.0, 64.0, 65504.0}) {
    const double scaled = std::ldexp(largest, SplitExponent(largest));
    EXPECT_GE(scaled, 16384.0) << largest;
    EXPECT_LE(scaled, 32768.0) << largest;
  }
}

CollectorOptions OptionsOf(uint32_t episodes, Precision precision) {
  CollectorOptions options;
  options.episodes = episodes;
  options.precision = precision;
  return options;
}
constexpr CudaLimits kHopper = {90, true, true, 1056, 1056};
constexpr CudaLimits kAda = {89, false, true, 0, 1136};  // 142 SMs, fp16

TEST(CudaChoice, TakesTheAlgorithmThatTheEpisodesAllow) {
  const auto few = ChooseAlgorithm(OptionsOf(128, Precision::kAuto), CudaAlgorithm::kAuto, kHopper);
  EXPECT_EQ(few->algorithm, CudaAlgorithm::kResident);
  const auto many =
      ChooseAlgorithm(OptionsOf(8192, Precision::kFp32), CudaAlgorithm::kAuto, kHopper);
  EXPECT_EQ(many->algorithm, CudaAlgorithm::kTiled);
  EXPECT_NE(many->reason.find("8192"), std::string::npos);
}

TEST(CudaChoice, FallsBackToSteppedAndSaysWhy) {
  CollectorOptions wide = OptionsOf(8192, Precision::kAuto);
  wide.architecture.hidden1 = 512;
  const auto widths = ChooseAlgorithm(wide, CudaAlgorithm::kAuto, kHopper);
  EXPECT_EQ(widths->algorithm, CudaAlgorithm::kStepped);
  EXPECT_NE(widths->reason.find("512"), std::string::npos);
  const auto card = ChooseAlgorithm(OptionsOf(128, Precision::kAuto), CudaAlgorithm::kAuto,
                                    {75, false, false, 0, 0});
  EXPECT_EQ(card->algorithm, CudaAlgorithm::kStepped);
  EXPECT_NE(card->reason.find("sm_75"), std::string::npos);
  const auto forced = ChooseAlgorithm(wide, CudaAlgorithm::kTiled, kHopper);
  EXPECT_EQ(forced.status().code(), absl::StatusCode::kInvalidArgument);
  const auto above =
      ChooseAlgorithm(OptionsOf(8192, Precision::kAuto), CudaAlgorithm::kResident, kHopper);
  EXPECT_EQ(above.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(above.status().message().find("1056"), std::string::npos);
}

TEST(CudaChoice, TakesTilesWithoutWgmmaBeforeHopper) {
  for (const CudaAlgorithm wanted : {CudaAlgorithm::kAuto, CudaAlgorithm::kTiled}) {
    const auto choice = ChooseAlgorithm(OptionsOf(2048, Precision::kFp16), wanted, kAda);
    EXPECT_EQ(choice->algorithm, CudaAlgorithm::kTiledMma);
  }
  const auto split = ChooseAlgorithm(OptionsOf(128, Precision::kFp32), CudaAlgorithm::kAuto,
                                     {89, false, true, 0, 0});
  EXPECT_EQ(split->algorithm, CudaAlgorithm::kTiledMma);
  EXPECT_NE(split->reason.find("fp32"), std::string::npos);
}

TEST(CudaChoice, TakesOneNetworkAnSmBeforeHopperWhileTheEpisodesAllow) {
  for (const CudaAlgorithm wanted :
       {CudaAlgorithm::kAuto, CudaAlgorithm::kResident, CudaAlgorithm::kResidentSingle}) {
    const auto choice = ChooseAlgorithm(OptionsOf(1136, Precision::kAuto), wanted, kAda);
    EXPECT_EQ(choice->algorithm, CudaAlgorithm::kResidentSingle);
  }
  for (const CudaAlgorithm wanted : {CudaAlgorithm::kResident, CudaAlgorithm::kResidentSingle}) {
    const auto above = ChooseAlgorithm(OptionsOf(1137, Precision::kFp16), wanted, kAda);
    EXPECT_EQ(above.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(above.status().message().find("1136"), std::string::npos);
  }
  const auto forced =
      ChooseAlgorithm(OptionsOf(128, Precision::kFp16), CudaAlgorithm::kResidentSingle, kHopper);
  EXPECT_EQ(forced->algorithm, CudaAlgorithm::kResidentSingle);
  const auto old = ChooseAlgorithm(OptionsOf(128, Precision::kFp16), CudaAlgorithm::kResidentSingle,
                                   {75, false, false, 0, 0});
  EXPECT_NE(old.status().message().find("sm_75"), std::string::npos);
}

TEST(CudaChoice, LeavesTheFormWithoutClustersForItsOwnTiles) {
  for (const CudaAlgorithm algorithm : {CudaAlgorithm::kTiledMma, CudaAlgorithm::kResidentSingle}) {
    const AlgorithmChoice started = {algorithm, ""};
    EXPECT_EQ(FormOf(algorithm), TileForm::kFragments);
    const LaunchChoice choice = ChooseLaunch(started, Precision::kAuto, {false, true, true});
    EXPECT_EQ(choice.algorithm, CudaAlgorithm::kTiledMma);
    EXPECT_EQ(choice.precision, Precision::kTf32);
    EXPECT_EQ(ChooseLaunch(started, Precision::kTf32, {false, true, true}).algorithm,
              CudaAlgorithm::kTiledMma);
    EXPECT_EQ(ChooseLaunch(started, Precision::kAuto, {}).algorithm, algorithm);
    // Its tf32 is fp16 scaled by what bounds the activations: beyond that range products of cuBLAS.
    for (const Precision precision : {Precision::kAuto, Precision::kTf32}) {
      const LaunchChoice beyond = ChooseLaunch(started, precision, {false, true, true, false});
      EXPECT_EQ(beyond.algorithm, CudaAlgorithm::kStepped);
      EXPECT_EQ(beyond.precision, Precision::kTf32);
    }
  }
}

TEST(CudaChoice, LeavesFp16WhenTheWeightsDoNotFit) {
  const AlgorithmChoice started = {CudaAlgorithm::kResident, "few episodes"};
  const WeightsFit wide = {false, true, true};
  const LaunchChoice automatic = ChooseLaunch(started, Precision::kAuto, wide);
  EXPECT_EQ(automatic.algorithm, CudaAlgorithm::kTiled);
  EXPECT_EQ(automatic.precision, Precision::kTf32);
  EXPECT_NE(automatic.reason.find("fp16"), std::string::npos);
  const LaunchChoice half = ChooseLaunch(started, Precision::kFp16, wide);
  EXPECT_EQ(half.algorithm, CudaAlgorithm::kStepped);
  EXPECT_EQ(half.precision, Precision::kFp16);
  const LaunchChoice full = ChooseLaunch(started, Precision::kFp32, {false, true, false});
  EXPECT_EQ(full.algorithm, CudaAlgorithm::kStepped);
  for (const Precision precision : {Precision::kTf32, Precision::kFp32}) {
    const LaunchChoice scaled = ChooseLaunch(started, precision, wide);
    EXPECT_EQ(scaled.algorithm, CudaAlgorithm::kTiled);
    EXPECT_EQ(scaled.precision, precision);
    EXPECT_NE(scaled.reason.find("fp16"), std::string::npos);
  }
  const LaunchChoice fits = ChooseLaunch(started, Precision::kAuto, {});
  EXPECT_EQ(fits.algorithm, CudaAlgorithm::kResident);
  EXPECT_EQ(fits.reason, "few episodes");
}

}  // namespace
}  // namespace vixen::kernels
