// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_tile_source.h"

#include <cuda_fp16.h>

#include <cmath>

#include "kernels/collect/cuda_half.h"
#include "kernels/env/settings.h"

namespace vixen::kernels {
namespace {

constexpr size_t kValue1 = 3;  // its one output is beside the tiles
constexpr size_t kValue0 = TileSource::kValue0;
constexpr size_t kAdvantage0 = TileSource::kAdvantage0;
constexpr size_t kAdvantage1 = TileSource::kAdvantage1;

}  // namespace

float PowerOfTwo(int exponent) { return std::ldexp(1.0f, exponent); }

float HalfPart(float value) { return __half2float(__ushort_as_half(HalfBits(value))); }

float TileSource::Weight(size_t layer, uint32_t output, uint32_t input) const {
  const LayerLayout& l = layers_[layer];
  if (output >= l.outputs || input >= l.inputs) return 0.0f;
  return parameters_.values[l.weight_offset + size_t{output} * l.inputs + input];
}

float TileSource::Bias(size_t layer, uint32_t output) const {
  const LayerLayout& l = layers_[layer];
  return output < l.outputs ? parameters_.values[l.bias_offset + output] : 0.0f;
}

float TileSource::StateWeight(uint32_t output, uint32_t column) const {
  const uint32_t features = parameters_.architecture.features;
  if (column < features) return Weight(0, output, column);
  if (column >= tile::kPortfolioColumn) {
    return Weight(0, output, features + column - tile::kPortfolioColumn);
  }
  if (column < tile::kOneColumn) return 0.0f;
  const float bias = Bias(0, output);
  const float first = HalfPart(bias);
  return column == tile::kOneColumn ? first : bias - first;
}

float TileSource::CuriosityWeight(uint32_t output, uint32_t column) const {
  const uint32_t features = parameters_.architecture.features;
  const uint32_t state =
      column >= tile::kPortfolioColumn ? features + column - tile::kPortfolioColumn : column;
  const bool is_state = column < features || column >= tile::kPortfolioColumn;
  return is_state && state < parameters_.architecture.embedding() ? Weight(0, output, state) : 0.0f;
}

TileExponents ExponentsOf(TileScales scales, const NetworkRange& range, const StateRange& states) {
  TileExponents e;
  if (scales == TileScales::kNone) return e;
  e.state = SplitExponent(states.largest);
  e.weights[0] = SplitExponent(range.weights[0]);
  if (scales == TileScales::kFirstLayer) return e;
  for (int i = 1; i < 4; ++i) e.weights[i] = SplitExponent(range.weights[i]);
  for (int i = 0; i < 3; ++i) e.sums[i] = SplitExponent(range.sums[i]);
  return e;
}

tile::NetworkConstants NetworkConstantsOf(const TileSource& source, const TileExponents& e) {
  tile::NetworkConstants constants = {};
  for (int i = 0; i < tile::kHidden; ++i) {
    constants.bias1[i] = source.Bias(TileSource::kShared1, i) * PowerOfTwo(e.sums[1]);
  }
  for (int i = 0; i < tile::kStream; ++i) {
    constants.bias2[i] = source.Bias(kValue0, i) * PowerOfTwo(e.sums[2]);
    constants.bias2[tile::kStream + i] = source.Bias(kAdvantage0, i) * PowerOfTwo(e.sums[2]);
    constants.value[i] = source.Weight(kValue1, 0, i) * PowerOfTwo(-e.sums[2]);
  }
  for (int i = 0; i < kActions; ++i) constants.advantage[i] = source.Bias(kAdvantage1, i);
  constants.value_bias = source.Bias(kValue1, 0);
  constants.scale[0] = PowerOfTwo(e.sums[0] - e.state - e.weights[0]);
  constants.scale[1] = PowerOfTwo(e.sums[1] - e.sums[0] - e.weights[1]);
  constants.scale[2] = PowerOfTwo(e.sums[2] - e.sums[1] - e.weights[2]);
  constants.scale[3] = PowerOfTwo(-e.sums[2] - e.weights[3]);
  return constants;
}

tile::CuriosityConstants CuriosityConstantsOf(const TileSource& source, const TileExponents& e) {
  tile::CuriosityConstants constants = {};
  const uint32_t embedding = source.architecture().embedding();
  for (uint32_t category = 0; category < kCategories; ++category) {
    for (int i = 0; i < 64; ++i) {
      const float bias = source.Bias(0, i) + source.Weight(0, i, embedding + category);
      constants.bias0[category][i] = bias * PowerOfTwo(e.sums[0]);
    }
  }
  for (int i = 0; i < 32; ++i) constants.bias1[i] = source.Bias(1, i);
  constants.scale[0] = PowerOfTwo(e.sums[0] - e.state - e.weights[0]);
  constants.scale[1] = PowerOfTwo(-e.sums[0] - e.weights[1]);
  return constants;
}

}  // namespace vixen::kernels
