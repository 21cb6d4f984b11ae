// SPDX-License-Identifier: Apache-2.0
// Images of weights for the CUDA kernels, on machines without a GPU as well.
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/collect/cuda_mma_layout.h"
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
  std::vector<std::byte> image(
      TileImageBytes(parameters.kind, tile::Operand::kSplit, TileForm::kSwizzled));
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
      std::vector<std::byte> image(TileImageBytes(parameters.kind, operand, form));
      WriteTileImage(parameters, operand, form, StateRange(), image.data());
      for (size_t i = 0; i < TileImageTiles(parameters.kind, operand, form); i += 2) {
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

TEST(CudaTileImage, HasAsManyFragmentsAsTiles) {
  for (const WeightsKind kind : {WeightsKind::kOnline, WeightsKind::kCuriosity}) {
    const auto bytes = [kind](tile::Operand operand, TileForm form) {
      return TileImageTiles(kind, operand, form);
    };
    for (const tile::Operand operand : {tile::Operand::kFp16, tile::Operand::kSplit}) {
      EXPECT_EQ(bytes(operand, TileForm::kFragments), bytes(operand, TileForm::kSwizzled));
    }
    // tf32 by mma.sync is fp16, scaled.
    EXPECT_EQ(bytes(tile::Operand::kTf32, TileForm::kFragments),
              bytes(tile::Operand::kFp16, TileForm::kFragments));
  }
}

TEST(CudaTileImage, GivesEveryInputOfAFragmentItsOwnPlace) {
  std::vector<int> halves(tile::kMmaFragmentBytes / 2);
  for (int row = 0; row < 16; ++row) {
    for (int k = 0; k < 16; ++k) halves[tile::MmaFragmentOffset(row, k) / 2] += 1;
  }
  EXPECT_EQ(halves, std::vector<int>(256, 1));
}

// Where one weight is among a warp's steps, counted by hand: neuron 100 of the advantage stream,
// 228 of layer 2, is the last warp's 36th; input 17 the second step's. Split operands lie layer by
// layer.
TEST(CudaTileImage, PutsAWeightAmongTheStepsOfItsWarp) {
  Parameters parameters = Numbered(WeightsKind::kOnline);
  std::fill(parameters.values.begin(), parameters.values.end(), 0.0f);
  const std::vector<LayerLayout> layers = LayersOf(parameters.architecture, parameters.kind);
  parameters.values[layers[4].weight_offset + 100 * 256 + 17] = 0.5f;
  // Lane 4 · (36 mod 8), its second word's half of the first block of 8 neurons.
  constexpr size_t kInFragment = 16 * 16 + 2;
  // Of layer 2 the second half's first fragment: twice 4 and 16 steps of layers 0 and 1 before it.
  constexpr size_t kStep = 1024;
  const size_t one = (3 * 72 + 8 + 32 + 16 + 1) * kStep;
  // Split: behind layers 0 and 1 and the value stream, 16 units a part of which are 4 KB; the
  // seventh block of 16 neurons.
  const size_t two = 16 * 16 * 64 * 4 + 256 * 256 * 4 + 128 * 256 * 4 + 2 * 4096 + 6 * 512;
  const auto image_of = [&](tile::Operand operand) {
    std::vector<std::byte> image(TileImageBytes(parameters.kind, operand, TileForm::kFragments));
    WriteTileImage(parameters, operand, TileForm::kFragments, StateRange(), image.data());
    return image;
  };
  const double scaled = std::ldexp(0.5, SplitExponent(0.5));
  EXPECT_EQ(HalfAt(image_of(tile::Operand::kFp16), one + kInFragment), 0.5);
  EXPECT_EQ(HalfAt(image_of(tile::Operand::kTf32), one + kInFragment), scaled);
  EXPECT_EQ(HalfAt(image_of(tile::Operand::kSplit), two + kInFragment), scaled);
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

}  // namespace
}  // namespace vixen::kernels
