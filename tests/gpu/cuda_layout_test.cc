// SPDX-License-Identifier: Apache-2.0
// The host side of the CUDA executor, on machines without a GPU as well: weight images, memory
// plan, names, and what happens where there is no driver.
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/collect/cuda_choice.h"
#include "kernels/collect/cuda_collector.h"
#include "kernels/collect/cuda_executor.h"
#include "kernels/collect/cuda_range.h"
#include "kernels/collect/cuda_resident_image.h"
#include "kernels/collect/cuda_tile_image.h"
#include "kernels/collect/cuda_tile_layout.h"
#include "kernels/collect/cuda_weights.h"

namespace vixen::kernels {
namespace {

// Parameter i has the value i mod 2,048, which fp16 holds exactly.
Parameters Numbered(WeightsKind kind) {
  Parameters parameters{Architecture{}, kind, {}};
  parameters.values.resize(ParameterCount(parameters.architecture, kind));
  for (size_t i = 0; i < parameters.values.size(); ++i) {
    parameters.values[i] = static_cast<float>(i % 2048);
  }
  return parameters;
}

double HalfAt(const std::vector<std::byte>& image, size_t offset) {
  uint16_t bits;
  std::memcpy(&bits, image.data() + offset, sizeof(bits));
  return __half2float(__ushort_as_half(bits));
}

double SumOfWeights(const Parameters& parameters) {
  double sum = 0;
  for (const LayerLayout& layer : LayersOf(parameters.architecture, parameters.kind)) {
    for (size_t i = layer.weight_offset; i < layer.bias_offset; ++i) sum += parameters.values[i];
  }
  return sum;
}

TEST(CudaWeights, KeepTheParametersAsTheyCame) {
  const Parameters parameters = Numbered(WeightsKind::kOnline);
  const WeightsLayout layout = LayOutWeights(parameters.architecture, parameters.kind);
  const std::vector<std::byte> image = BuildWeightsImage(layout, parameters);
  EXPECT_EQ(std::memcmp(image.data() + layout.parameters, parameters.values.data(),
                        parameters.values.size() * sizeof(float)),
            0);
}

// Sum over the network tiles of one form, parts of a split weight added and scales undone.
double SumOfTiles(const std::vector<std::byte>& image, const WeightsLayout& layout,
                  tile::Operand operand) {
  const size_t begin = layout.tile[static_cast<size_t>(operand)];
  double sum = 0;
  for (size_t i = 0; i < tile::PassBytes(operand); i += 2) sum += HalfAt(image, begin + i);
  return sum;
}

TEST(CudaTileImage, HoldsEveryMatrixWeightAndTheFirstBiasesOnce) {
  const Parameters parameters = Numbered(WeightsKind::kOnline);
  const WeightsLayout layout =
      LayOutWeights(parameters.architecture, parameters.kind, Precision::kFp16);
  ASSERT_TRUE(layout.has_tile[0]);
  EXPECT_FALSE(layout.has_tile[1]);
  const std::vector<std::byte> image = BuildWeightsImage(layout, parameters);
  // The value stream's last weights stay beside the tiles, in float32.
  const std::vector<LayerLayout> layers = LayersOf(parameters.architecture, parameters.kind);
  double expected = SumOfWeights(parameters);
  for (size_t i = layers[3].weight_offset; i < layers[3].bias_offset; ++i) {
    expected -= parameters.values[i];
  }
  for (uint32_t i = 0; i < layers[0].outputs; ++i) {
    expected += parameters.values[layers[0].bias_offset + i];
  }
  EXPECT_EQ(SumOfTiles(image, layout, tile::Operand::kFp16), expected);
}

TEST(CudaTileImage, SplitsAWeightIntoPartsThatAddUpToIt) {
  Parameters parameters = Numbered(WeightsKind::kOnline);
  const std::vector<LayerLayout> layers = LayersOf(parameters.architecture, parameters.kind);
  for (size_t i = 0; i < parameters.values.size(); ++i) {
    parameters.values[i] = std::ldexp(1.0f + static_cast<float>(i % 1021) / 1021.0f, -4);
  }
  std::vector<std::byte> image(TileImageBytes(parameters.kind, tile::Operand::kSplit));
  const StateRange states;
  WriteTileImage(parameters, tile::Operand::kSplit, TileForm::kSwizzled, states, image.data());
  // Layer 1, neuron 0, inputs 0 … 31: behind layer 0 of the first 32 neurons.
  const size_t tile_begin = tile::Layer0Bytes(tile::Operand::kSplit, 32);
  for (uint32_t k = 0; k < 32; ++k) {
    const double high = HalfAt(image, tile_begin + tile::TileOffset(0, 2 * k));
    const double low = HalfAt(image, tile_begin + tile::TileOffset(0, 64 + 2 * k));
    const double weight = parameters.values[layers[1].weight_offset + k];
    const double scale = std::ldexp(1.0, SplitExponent(0.124));
    EXPECT_NEAR((high + low) / scale, weight, std::ldexp(weight, -22)) << k;
  }
}

TEST(CudaTileImage, HoldsTheSameWeightsAsFragments) {
  const Parameters parameters = Numbered(WeightsKind::kTarget);
  for (const tile::Operand operand : {tile::Operand::kFp16, tile::Operand::kSplit}) {
    double sums[2] = {0, 0};
    for (const TileForm form : {TileForm::kSwizzled, TileForm::kFragments}) {
      std::vector<std::byte> image(TileImageBytes(parameters.kind, operand));
      WriteTileImage(parameters, operand, form, StateRange(), image.data());
      for (size_t i = 0; i < tile::PassBytes(operand); i += 2) {
        sums[static_cast<size_t>(form)] += HalfAt(image, i);
      }
    }
    EXPECT_EQ(sums[0], sums[1]);
    EXPECT_NE(sums[0], 0);
  }
}

// The network's weights but for layer 0's of the portfolio, which the image holds in float32.
double SumOfResidentWeights(const Parameters& parameters) {
  double sum = SumOfWeights(parameters);
  const LayerLayout layer = LayersOf(parameters.architecture, parameters.kind)[0];
  for (uint32_t output = 0; output < layer.outputs; ++output) {
    for (uint32_t i = parameters.architecture.features; i < layer.inputs; ++i) {
      sum -= parameters.values[layer.weight_offset + size_t{output} * layer.inputs + i];
    }
  }
  return sum;
}

std::vector<std::byte> ResidentImage(const Parameters& parameters, tile::Operand operand,
                                     Precision precision) {
  const WeightsLayout layout = LayOutWeights(parameters.architecture, parameters.kind, precision);
  const std::vector<std::byte> image = BuildWeightsImage(layout, parameters);
  const size_t begin = layout.resident[static_cast<size_t>(operand)];
  EXPECT_GT(begin, 0u);
  return {image.begin() + static_cast<std::ptrdiff_t>(begin),
          image.begin() + static_cast<std::ptrdiff_t>(begin + resident::ImageBytes(operand))};
}

TEST(CudaResidentImage, HoldsEveryWeightOnce) {
  const Parameters parameters = Numbered(WeightsKind::kOnline);
  const std::vector<std::byte> image =
      ResidentImage(parameters, tile::Operand::kFp16, Precision::kFp16);
  double sum = 0;
  for (size_t i = 0; i < resident::PortfolioOffset(tile::Operand::kFp16); i += 2) {
    sum += HalfAt(image, i);
  }
  EXPECT_EQ(sum, SumOfResidentWeights(parameters));
}

TEST(CudaResidentImage, HoldsTheSameWeightsInTf32AndBehindThemInFp16) {
  const Parameters parameters = Numbered(WeightsKind::kOnline);
  const std::vector<std::byte> image =
      ResidentImage(parameters, tile::Operand::kTf32, Precision::kTf32);
  double sum = 0;
  for (size_t i = 0; i < resident::PortfolioOffset(tile::Operand::kTf32); i += 4) {
    float value;
    std::memcpy(&value, image.data() + i, sizeof(value));
    sum += value;
  }
  EXPECT_EQ(sum, SumOfResidentWeights(parameters));
  const std::vector<std::byte> halves =
      ResidentImage(parameters, tile::Operand::kFp16, Precision::kFp16);
  EXPECT_EQ(std::memcmp(image.data() + resident::HalvesOffset(tile::Operand::kTf32), halves.data(),
                        halves.size()),
            0);
}

TEST(CudaResidentImage, SplitsAWeightIntoPartsThatAddUpToIt) {
  Parameters parameters = Numbered(WeightsKind::kOnline);
  for (size_t i = 0; i < parameters.values.size(); ++i) {
    parameters.values[i] = 0.0625f + static_cast<float>(i % 1021) / 52361.0f;
  }
  const std::vector<std::byte> image =
      ResidentImage(parameters, tile::Operand::kSplit, Precision::kFp32);
  // Layer 1 of the first block's first warp: lane 0, first word, columns 0 and 1 of neuron 0.
  const size_t at = resident::Fragment1(0, 0, 0) * resident::FragmentBytes(tile::Operand::kSplit);
  const LayerLayout layer = LayersOf(parameters.architecture, parameters.kind)[1];
  for (size_t u = 0; u < 2; ++u) {
    const double weight = parameters.values[layer.weight_offset + u];
    const double high = HalfAt(image, at + 2 * u);
    const double low = HalfAt(image, at + 512 + 2 * u) / 2048.0;
    EXPECT_NEAR(high + low, weight, std::ldexp(weight, -21));
    EXPECT_NE(low, 0);
  }
}

TEST(CudaResidentImage, GivesEveryNeuronToOneRow) {
  std::vector<int> first(256), other(128), stream(256);
  for (int warp = 0; warp < resident::kWarps; ++warp) {
    for (int row = 0; row < 16; ++row) {
      for (int block = 0; block < 2; ++block) first[resident::Neuron0(warp, block, row)] += 1;
      other[resident::Neuron(warp, row)] += 1;
      for (int rank = 0; rank < resident::kCluster; ++rank) {
        stream[resident::StreamRow(rank, resident::Neuron(warp, row))] += 1;
      }
    }
  }
  EXPECT_EQ(first, std::vector<int>(256, 1));
  EXPECT_EQ(other, std::vector<int>(128, 1));
  EXPECT_EQ(stream, std::vector<int>(256, 1));
}

TEST(CudaTileImage, SwizzlesTilesWithoutOverlap) {
  std::vector<bool> seen(tile::TileBytes(48));
  for (int row = 0; row < 48; ++row) {
    for (int byte = 0; byte < 128; ++byte) {
      const size_t place = tile::TileOffset(row, byte);
      ASSERT_LT(place, seen.size());
      EXPECT_FALSE(seen[place]);
      seen[place] = true;
    }
  }
}

TEST(CudaTileImage, TakesEveryStateColumnAndEveryTf32NeuronOnce) {
  std::vector<int> columns(tile::kStateWidth);
  std::vector<int> neurons(tile::kHidden);
  for (int k = 0; k < tile::kStateWidth; ++k) columns[tile::StateColumn(k)] += 1;
  for (int k = 0; k < tile::kHidden; ++k) neurons[tile::Tf32Neuron(k)] += 1;
  EXPECT_EQ(columns, std::vector<int>(tile::kStateWidth, 1));
  EXPECT_EQ(neurons, std::vector<int>(tile::kHidden, 1));
}

TEST(CudaTileImage, StagesOfFragmentsAddUpToAPass) {
  for (const tile::Operand operand :
       {tile::Operand::kFp16, tile::Operand::kTf32, tile::Operand::kSplit}) {
    const int stages = tile::MmaChunkStages(operand);
    const int share = tile::MmaLayer0Bytes(operand);
    const int chunks = tile::kHidden / tile::kMmaChunk;
    EXPECT_LE(share + tile::kMmaLayer1Bytes, tile::kMmaStageBytes);
    EXPECT_EQ(size_t(stages) * chunks * (share + tile::kMmaLayer1Bytes) +
                  size_t(2) * tile::MmaStreamStages(operand) * tile::kMmaStreamBytes +
                  size_t(tile::MmaLastStages(operand)) * tile::kMmaLastBytes,
              tile::PassBytes(operand));
    const int first = tile::Layer0Bytes(operand, 64);
    EXPECT_LE(first / tile::MmaCuriosityStages(operand), tile::kMmaStageBytes);
    EXPECT_LE(tile::CuriosityBytes(operand) - first, tile::kMmaStageBytes);
  }
}

// Where a weight of layer 1 is in the stream of fragments, counted by hand.
TEST(CudaTileImage, PutsAUnitOfLayer1BehindItsShareOfLayer0) {
  Parameters parameters = Numbered(WeightsKind::kOnline);
  std::fill(parameters.values.begin(), parameters.values.end(), 0.0f);
  const std::vector<LayerLayout> layers = LayersOf(parameters.architecture, parameters.kind);
  // Neuron 9, input 16 + 1: the second chunk.
  parameters.values[layers[1].weight_offset + 9 * 256 + 17] = 0.5f;
  std::vector<std::byte> image(TileImageBytes(parameters.kind, tile::Operand::kFp16));
  WriteTileImage(parameters, tile::Operand::kFp16, TileForm::kFragments, StateRange(),
                 image.data());
  // Layer 0 of chunks 0, 1 and 2 and the first unit come before; then lane 4 · (9 mod 8), the
  // second block of 8 neurons, the second half of its first word.
  const size_t unit = 3 * size_t(tile::MmaLayer0Bytes(tile::Operand::kFp16)) + 8192;
  EXPECT_EQ(HalfAt(image, unit + 4 * 16 + 8 + 2), 0.5);
}

TEST(CudaTileImage, StagesAddUpToAPass) {
  for (const tile::Operand operand :
       {tile::Operand::kFp16, tile::Operand::kTf32, tile::Operand::kSplit}) {
    size_t sum = 0;
    for (int stage = 0; stage < tile::Stages(operand); ++stage) {
      EXPECT_LE(tile::StageBytes(operand, stage), tile::kStageBytes);
      sum += tile::StageBytes(operand, stage);
    }
    EXPECT_EQ(sum, tile::PassBytes(operand));
    EXPECT_LE(tile::CuriosityBytes(operand), tile::kStageBytes);
  }
}

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

TEST(CudaExecutor, PlansTheDatasetOfTwoMillionBars) {
  CollectorOptions options;
  options.market.bars = 2'000'000;
  options.market.feature_count = 51;
  const MemoryPlan plan = PlanMemory(options, CudaAlgorithm::kTiled, false, uint64_t{4} << 30);
  EXPECT_GT(plan.total(), uint64_t{2'000'000} * (52 * 4 + 17 + 128));
  EXPECT_LT(plan.total(), plan.free_bytes);
  EXPECT_NE(plan.Describe().find("dataset"), std::string::npos);
}

TEST(CudaExecutor, CountsTheDatasetOnceForAllPolicies) {
  CollectorOptions options;
  options.market.bars = 1'000'000;
  options.market.feature_count = 51;
  const uint64_t first = PlanMemory(options, CudaAlgorithm::kTiled, false, 0).total();
  const uint64_t second = PlanMemory(options, CudaAlgorithm::kTiled, true, 0).total();
  EXPECT_EQ(first - second, DeviceDataset::BytesOf(options.market, true) +
                                DeviceDataset::UploadBytesOf(options.market));
}

TEST(CudaExecutor, RefusesWhatDoesNotFitWithWhatWould) {
  CollectorOptions options;
  options.market.bars = 100'000;
  options.market.feature_count = 51;
  options.episodes = 65'536;
  const MemoryPlan plan = PlanMemory(options, CudaAlgorithm::kTiled, false, uint64_t{4} << 30);
  const absl::Status status = plan.CheckFits(options, 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("gpu 1"), std::string::npos);
  EXPECT_NE(status.message().find("4.00 GiB free"), std::string::npos);
  const size_t at = status.message().find("about ");
  ASSERT_NE(at, std::string::npos);
  options.episodes =
      static_cast<uint32_t>(std::stoul(std::string(status.message().substr(at + 6))));
  EXPECT_GT(options.episodes, 10'000u);
  EXPECT_TRUE(PlanMemory(options, CudaAlgorithm::kTiled, false, plan.free_bytes)
                  .CheckFits(options, 1)
                  .ok());
  options.episodes += options.episodes / 50;
  EXPECT_FALSE(PlanMemory(options, CudaAlgorithm::kTiled, false, plan.free_bytes)
                   .CheckFits(options, 1)
                   .ok());
}

TEST(CudaExecutor, PlansProductsForSteppedAloneWhateverThePrecision) {
  CollectorOptions options;
  options.market.bars = 1000;
  options.market.feature_count = 51;
  const auto products = [&](CudaAlgorithm algorithm, Precision precision) {
    options.precision = precision;
    const MemoryPlan plan = PlanMemory(options, algorithm, false, 0);
    const auto part = std::find_if(plan.parts.begin(), plan.parts.end(),
                                   [](const auto& p) { return p.name == "products"; });
    return part == plan.parts.end() ? ~uint64_t{0} : part->bytes;
  };
  for (const Precision precision : {Precision::kFp16, Precision::kTf32, Precision::kFp32}) {
    EXPECT_EQ(products(CudaAlgorithm::kResident, precision), 0u);
    EXPECT_EQ(products(CudaAlgorithm::kTiledMma, precision), 0u);
    EXPECT_GT(products(CudaAlgorithm::kStepped, precision), uint64_t{32} << 20);
  }
}

TEST(CudaCollector, SaysThatThereIsNoGpuWhereThereIsNone) {
  if (QueryCudaDevices().ok()) GTEST_SKIP() << "there is a GPU here";
  CollectorOptions options;
  const std::vector<float> features(51 * 4), targets(16, 1.0f);
  const std::vector<uint8_t> last = {0, 0, 0, 1};
  options.market = {features.data(), targets.data(), last.data(), 4, 51, 0, 4};
  const auto collector = MakeCudaCollector(options, 0, CudaAlgorithm::kAuto);
  EXPECT_EQ(collector.status().code(), absl::StatusCode::kUnavailable) << collector.status();
}

}  // namespace
}  // namespace vixen::kernels
