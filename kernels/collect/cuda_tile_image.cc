// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_tile_image.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/collect/cuda_half.h"
#include "kernels/env/settings.h"

namespace vixen::kernels {
namespace {

using tile::Operand;

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

// Appends blocks of rows × inputs. `weight(row, k)`, `scale` a power of two.
class TileWriter {
 public:
  TileWriter(TileForm form, std::byte* out) : form_(form), out_(out) {}

  template <typename Weight>
  void Write(Operand operand, int rows, int inputs, float scale, const Weight& weight) {
    const int tile_inputs = tile::TileInputs(operand);
    for (int row = 0; row < rows; ++row) {
      for (int k = 0; k < inputs; ++k) {
        const float value = weight(row, k) * scale;
        if (form_ == TileForm::kSwizzled) {
          std::byte* at = out_ + tile::TileBytes(rows) * (k / tile_inputs);
          PutSwizzled(operand, at, row, k % tile_inputs, value);
        } else {
          PutFragment(operand, rows, row, k, value);
        }
      }
    }
    out_ += tile::TileBytes(rows) * inputs / tile_inputs;
  }
  void Append(const std::byte* from, size_t bytes) {
    std::memcpy(out_, from, bytes);
    out_ += bytes;
  }
  std::byte* end() const { return out_; }

 private:
  static void PutSwizzled(Operand operand, std::byte* at, int row, int k, float value) {
    if (operand == Operand::kTf32) {
      PutFloat(at + tile::TileOffset(row, 4 * k), value);
      return;
    }
    PutHalf(at + tile::TileOffset(row, 2 * k), value);
    if (operand == Operand::kSplit) {
      PutHalf(at + tile::TileOffset(row, 64 + 2 * k), value - HalfPart(value));
    }
  }
  void PutFragment(Operand operand, int rows, int row, int k, float value) const {
    if (operand == Operand::kTf32) {
      std::byte* unit = out_ + tile::UnitBytes(rows) * (k / 8);
      PutFloat(unit + tile::UnitOffset(row, k % 4, k % 8 / 4), value);
      return;
    }
    const bool is_split = operand == Operand::kSplit;
    std::byte* unit = out_ + tile::UnitBytes(rows) * (k / 16 * (is_split ? 2 : 1));
    const size_t place = tile::UnitOffset(row, k % 8 / 2, k % 16 / 8) + k % 2 * 2;
    PutHalf(unit + place, value);
    if (is_split) PutHalf(unit + tile::UnitBytes(rows) + place, value - HalfPart(value));
  }
  static void PutFloat(std::byte* at, float value) {
    const float rounded = Tf32Part(value);
    std::memcpy(at, &rounded, sizeof(rounded));
  }
  static void PutHalf(std::byte* at, float value) {
    const uint16_t bits = HalfBits(value);
    std::memcpy(at, &bits, sizeof(bits));
  }

  const TileForm form_;
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

// Neuron of the layer before at position k.
int NeuronOf(Operand operand, int k) { return operand == Operand::kTf32 ? tile::Tf32Neuron(k) : k; }

void WriteNetwork(const Matrices& source, Operand operand, TileForm form, const Exponents& e,
                  std::byte* out) {
  const float scale[4] = {PowerOfTwo(e.weights[0]), PowerOfTwo(e.weights[1]),
                          PowerOfTwo(e.weights[2]), PowerOfTwo(e.weights[3])};
  TileWriter writer(form, out);
  const auto write_layer0 = [&](TileWriter& to, int first, int neurons) {
    to.Write(tile::StateOperand(operand), neurons, tile::kStateWidth, scale[0],
             [&](int row, int k) { return source.StateWeight(first + row, tile::StateColumn(k)); });
  };
  const auto write_layer1 = [&](TileWriter& to, int first, int inputs) {
    to.Write(operand, tile::kHidden, inputs, scale[1], [&](int row, int k) {
      return source.Weight(kShared1, row, NeuronOf(operand, first + k));
    });
  };
  if (form == TileForm::kSwizzled) {
    const int inputs = tile::TileInputs(operand);
    for (int first = 0; first < tile::kHidden; first += inputs) {
      write_layer0(writer, first, inputs);
      write_layer1(writer, first, inputs);
    }
  } else {
    // Shares of layer 0 for the chunk after, then a unit of layer 1, in turn.
    const int stages = tile::MmaChunkStages(operand);
    const int share = tile::MmaLayer0Bytes(operand);
    write_layer0(writer, 0, tile::kMmaChunk);
    std::vector<std::byte> layer0(size_t(stages) * share);
    std::vector<std::byte> layer1(size_t(stages) * tile::kMmaLayer1Bytes);
    for (int first = 0; first < tile::kHidden; first += tile::kMmaChunk) {
      const bool last = first + tile::kMmaChunk == tile::kHidden;
      TileWriter of_layer0(form, layer0.data());
      TileWriter of_layer1(form, layer1.data());
      if (!last) write_layer0(of_layer0, first + tile::kMmaChunk, tile::kMmaChunk);
      write_layer1(of_layer1, first, tile::kMmaChunk);
      for (int i = 0; i < stages; ++i) {
        if (!last) writer.Append(layer0.data() + size_t(i) * share, share);
        writer.Append(layer1.data() + size_t(i) * tile::kMmaLayer1Bytes, tile::kMmaLayer1Bytes);
      }
    }
  }
  for (const size_t stream : {kValue0, kAdvantage0}) {
    writer.Write(operand, tile::kStream, tile::kHidden, scale[2],
                 [&](int row, int k) { return source.Weight(stream, row, NeuronOf(operand, k)); });
  }
  writer.Write(operand, tile::kOutputs, tile::kStream, scale[3], [&](int row, int k) {
    return source.Weight(kAdvantage1, row, NeuronOf(operand, k));
  });
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

void WriteCuriosity(const Matrices& source, Operand operand, TileForm form, const Exponents& e,
                    std::byte* out) {
  TileWriter writer(form, out);
  writer.Write(tile::StateOperand(operand), 64, tile::kStateWidth, PowerOfTwo(e.weights[0]),
               [&](int row, int k) { return source.CuriosityWeight(row, tile::StateColumn(k)); });
  writer.Write(operand, 32, 64, PowerOfTwo(e.weights[1]),
               [&](int row, int k) { return source.Weight(1, row, NeuronOf(operand, k)); });
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

void WriteTileImage(const Parameters& parameters, Operand operand, TileForm form,
                    const StateRange& states, std::byte* out) {
  const Matrices source(parameters);
  const Exponents exponents = ExponentsOf(operand, RangeOfNetwork(parameters, states), states);
  if (parameters.kind == WeightsKind::kCuriosity) {
    WriteCuriosity(source, operand, form, exponents, out);
  } else {
    WriteNetwork(source, operand, form, exponents, out);
  }
}

float StateScale(Operand operand, const StateRange& states) {
  return operand == Operand::kFp16 ? 1.0f : PowerOfTwo(SplitExponent(states.largest));
}

}  // namespace vixen::kernels
