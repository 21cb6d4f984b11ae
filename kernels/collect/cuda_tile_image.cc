// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_tile_image.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/env/settings.h"

namespace vixen::kernels {
namespace {

using tile::Operand;

uint16_t HalfBits(float value) {
  return __half_as_ushort(__float2half_rn(std::clamp(value, -kLargestHalf, kLargestHalf)));
}
float HalfPart(float value) { return __half2float(__ushort_as_half(HalfBits(value))); }

// A matrix of the image: weight of (output, column), zero where there is none.
class Matrices {
 public:
  explicit Matrices(const Parameters& parameters)
      : parameters_(parameters), layers_(LayersOf(parameters.architecture, parameters.kind)) {}

  float Weight(size_t layer, uint32_t output, uint32_t input) const {
    const LayerLayout& l = layers_[layer];
    if (output >= l.outputs || input >= l.inputs) return 0.0f;
    return parameters_.values[l.weight_offset + size_t{output} * l.inputs + input];
  }
  float Bias(size_t layer, uint32_t output) const {
    const LayerLayout& l = layers_[layer];
    return output < l.outputs ? parameters_.values[l.bias_offset + output] : 0.0f;
  }
  // Layer 0 of a network for a tile row's column. The first one-column has the part of the bias
  // that fp16 holds, the second the rest.
  float StateWeight(uint32_t output, uint32_t column) const {
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
  // Layer 0 of the curiosity model: the first E state columns; no bias.
  float CuriosityWeight(uint32_t output, uint32_t column) const {
    const uint32_t features = parameters_.architecture.features;
    const uint32_t state =
        column >= tile::kPortfolioColumn ? features + column - tile::kPortfolioColumn : column;
    const bool is_state = column < features || column >= tile::kPortfolioColumn;
    return is_state && state < parameters_.architecture.embedding() ? Weight(0, output, state)
                                                                    : 0.0f;
  }
  const Architecture& architecture() const { return parameters_.architecture; }

 private:
  const Parameters& parameters_;
  const std::vector<LayerLayout> layers_;
};

// Order of LayersOf for online and target.
constexpr size_t kShared1 = 1, kValue0 = 2, kValue1 = 3, kAdvantage0 = 4, kAdvantage1 = 5;

// Rounded to tf32's 11 significant bits, ties away from zero.
float Tf32Part(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  bits = (bits + 0x1000u) & 0xffffe000u;
  std::memcpy(&value, &bits, sizeof(bits));
  return value;
}

// Appends tiles. `weight(row, k)` for rows × TileInputs inputs, `scale` a power of two.
class TileWriter {
 public:
  TileWriter(Operand operand, std::byte* out) : operand_(operand), out_(out) {}

  template <typename Weight>
  void Write(int rows, float scale, const Weight& weight) {
    for (int row = 0; row < rows; ++row) {
      for (int k = 0; k < tile::TileInputs(operand_); ++k) Put(row, k, weight(row, k) * scale);
    }
    out_ += tile::TileBytes(rows);
  }
  std::byte* end() const { return out_; }

 private:
  void Put(int row, int k, float value) {
    if (operand_ == Operand::kTf32) {
      const float rounded = Tf32Part(value);
      std::memcpy(out_ + tile::TileOffset(row, 4 * k), &rounded, sizeof(rounded));
      return;
    }
    const uint16_t high = HalfBits(value);
    std::memcpy(out_ + tile::TileOffset(row, 2 * k), &high, sizeof(high));
    if (operand_ == Operand::kFp16) return;
    const uint16_t low = HalfBits(value - HalfPart(value));
    std::memcpy(out_ + tile::TileOffset(row, 64 + 2 * k), &low, sizeof(low));
  }

  const Operand operand_;
  std::byte* out_;
};

// Exponents of the powers of two: states, weights of each matrix, activations of each layer.
struct Exponents {
  int state = 0;
  int weights[4] = {0, 0, 0, 0};
  int sums[3] = {0, 0, 0};
};
Exponents ExponentsOf(Operand operand, const NetworkRange& range, const StateRange& states) {
  Exponents e;
  if (operand == Operand::kFp16) return e;
  e.state = SplitExponent(states.largest);
  e.weights[0] = SplitExponent(range.weights[0]);
  if (operand == Operand::kTf32) return e;
  for (int i = 1; i < 4; ++i) e.weights[i] = SplitExponent(range.weights[i]);
  for (int i = 0; i < 3; ++i) e.sums[i] = SplitExponent(range.sums[i]);
  return e;
}
float PowerOfTwo(int exponent) { return std::ldexp(1.0f, exponent); }

// Writes layer 0's tiles for `neurons` from `first` on; `weight(neuron, column)`.
template <typename Weight>
void WriteStateTiles(Operand operand, int first, int neurons, float scale, std::byte*& out,
                     const Weight& weight) {
  const Operand state = tile::StateOperand(operand);
  TileWriter writer(state, out);
  const int inputs = tile::TileInputs(state);
  for (int i = 0; i < tile::kStateWidth / inputs; ++i) {
    writer.Write(neurons, scale, [&](int row, int k) {
      return weight(first + row, tile::StateColumn(i * inputs + k));
    });
  }
  out = writer.end();
}
// Neuron of the layer before at position k of tile `index`.
int NeuronOf(Operand operand, int index, int k) {
  const int place = index * tile::TileInputs(operand) + k;
  return operand == Operand::kTf32 ? tile::Tf32Neuron(place) : place;
}

void WriteNetwork(const Matrices& source, Operand operand, const Exponents& e, std::byte* out) {
  const int inputs = tile::TileInputs(operand);
  const float scale[4] = {PowerOfTwo(e.weights[0]), PowerOfTwo(e.weights[1]),
                          PowerOfTwo(e.weights[2]), PowerOfTwo(e.weights[3])};
  for (int chunk = 0; chunk < tile::Layer1Stages(operand); ++chunk) {
    WriteStateTiles(operand, inputs * chunk, inputs, scale[0], out,
                    [&](int neuron, int column) { return source.StateWeight(neuron, column); });
    TileWriter writer(operand, out);
    writer.Write(tile::kHidden, scale[1], [&](int row, int k) {
      return source.Weight(kShared1, row, NeuronOf(operand, chunk, k));
    });
    out = writer.end();
  }
  TileWriter writer(operand, out);
  for (const size_t stream : {kValue0, kAdvantage0}) {
    for (int i = 0; i < tile::kHidden / inputs; ++i) {
      writer.Write(tile::kStream, scale[2], [&](int row, int k) {
        return source.Weight(stream, row, NeuronOf(operand, i, k));
      });
    }
  }
  for (int i = 0; i < tile::kStream / inputs; ++i) {
    writer.Write(tile::kOutputs, scale[3], [&](int row, int k) {
      return source.Weight(kAdvantage1, row, NeuronOf(operand, i, k));
    });
  }
  tile::NetworkConstants constants = {};
  for (int i = 0; i < tile::kHidden; ++i) {
    constants.bias1[i] = source.Bias(kShared1, i) * PowerOfTwo(e.sums[1]);
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
  std::memcpy(writer.end(), &constants, sizeof(constants));
}

void WriteCuriosity(const Matrices& source, Operand operand, const Exponents& e, std::byte* out) {
  const int inputs = tile::TileInputs(operand);
  WriteStateTiles(operand, 0, 64, PowerOfTwo(e.weights[0]), out,
                  [&](int neuron, int column) { return source.CuriosityWeight(neuron, column); });
  TileWriter writer(operand, out);
  for (int i = 0; i < 64 / inputs; ++i) {
    writer.Write(32, PowerOfTwo(e.weights[1]),
                 [&](int row, int k) { return source.Weight(1, row, NeuronOf(operand, i, k)); });
  }
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
  std::memcpy(writer.end(), &constants, sizeof(constants));
}

}  // namespace

size_t TileImageTiles(WeightsKind kind, Operand operand) {
  return kind == WeightsKind::kCuriosity ? tile::CuriosityBytes(operand) : tile::PassBytes(operand);
}

size_t TileImageBytes(WeightsKind kind, Operand operand) {
  return TileImageTiles(kind, operand) + (kind == WeightsKind::kCuriosity
                                              ? sizeof(tile::CuriosityConstants)
                                              : sizeof(tile::NetworkConstants));
}

void WriteTileImage(const Parameters& parameters, Operand operand, const StateRange& states,
                    std::byte* out) {
  const Matrices source(parameters);
  const Exponents exponents = ExponentsOf(operand, RangeOfNetwork(parameters, states), states);
  if (parameters.kind == WeightsKind::kCuriosity) {
    WriteCuriosity(source, operand, exponents, out);
  } else {
    WriteNetwork(source, operand, exponents, out);
  }
}

float StateScale(Operand operand, const StateRange& states) {
  return operand == Operand::kFp16 ? 1.0f : PowerOfTwo(SplitExponent(states.largest));
}

}  // namespace vixen::kernels
