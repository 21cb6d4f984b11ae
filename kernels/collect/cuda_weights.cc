// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/collect/cuda_choice.h"
#include "kernels/collect/cuda_half.h"
#include "kernels/collect/cuda_resident_image.h"
#include "kernels/collect/cuda_tile_image.h"
#include "kernels/collect/cuda_tile_layout.h"
#include "kernels/env/settings.h"

namespace vixen::kernels {
namespace {

constexpr size_t kAlignment = 1024;

size_t RoundUp(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// The layers of one kind by role.
struct Source {
  const Parameters& parameters;
  std::vector<LayerLayout> layers;

  explicit Source(const Parameters& p) : parameters(p), layers(LayersOf(p.architecture, p.kind)) {}
  float Weight(size_t layer, size_t output, size_t input) const {
    const LayerLayout& l = layers[layer];
    return parameters.values[l.weight_offset + output * l.inputs + input];
  }
  float Bias(size_t layer, size_t output) const {
    return parameters.values[layers[layer].bias_offset + output];
  }
};

// Order of LayersOf for online and target.
constexpr size_t kShared0 = 0, kShared1 = 1, kValue0 = 2, kValue1 = 3, kAdvantage0 = 4,
                 kAdvantage1 = 5;

// Weight of padded matrix `index`; zero in the padding.
float MatrixWeight(const Source& source, int index, size_t output, size_t input) {
  size_t layer = index;
  if (source.parameters.kind != WeightsKind::kCuriosity) {
    const size_t value_hidden = source.parameters.architecture.value_hidden;
    if (index == 2) {
      layer = output < value_hidden ? kValue0 : kAdvantage0;
      if (output >= value_hidden) output -= value_hidden;
    } else if (index == 3) {
      layer = kAdvantage1;
    }
  }
  const LayerLayout& l = source.layers[layer];
  return output < l.outputs && input < l.inputs ? source.Weight(layer, output, input) : 0.0f;
}

void WriteBiases(const Source& source, float* out) {
  const Architecture& a = source.parameters.architecture;
  const BiasLayout at = BiasesOf(a, source.parameters.kind);
  std::fill(out, out + at.count, 0.0f);
  if (source.parameters.kind == WeightsKind::kCuriosity) {
    for (uint32_t i = 0; i < a.curiosity_hidden; ++i) out[at.layer0 + i] = source.Bias(0, i);
    for (uint32_t i = 0; i < a.embedding(); ++i) out[at.layer1 + i] = source.Bias(1, i);
    return;
  }
  for (uint32_t i = 0; i < a.hidden1; ++i) out[at.layer0 + i] = source.Bias(kShared0, i);
  for (uint32_t i = 0; i < a.hidden2; ++i) out[at.layer1 + i] = source.Bias(kShared1, i);
  for (uint32_t i = 0; i < a.value_hidden; ++i) {
    out[at.layer2 + i] = source.Bias(kValue0, i);
    out[at.value + i] = source.Weight(kValue1, 0, i);
  }
  for (uint32_t i = 0; i < a.advantage_hidden; ++i) {
    out[at.layer2 + a.value_hidden + i] = source.Bias(kAdvantage0, i);
  }
  for (int i = 0; i < kActions; ++i) out[at.advantage + i] = source.Bias(kAdvantage1, i);
  out[at.value_bias] = source.Bias(kValue1, 0);
}

// Without clusters there is no resident kernel of split products.
bool HasResidentImage(WeightsKind kind, TileForm form, tile::Operand operand) {
  return kind == WeightsKind::kOnline &&
         (form == TileForm::kSwizzled || operand != tile::Operand::kSplit);
}

void PutHalf(std::byte* at, float value) {
  const uint16_t bits = HalfBits(value);
  std::memcpy(at, &bits, sizeof(bits));
}

}  // namespace

BiasLayout BiasesOf(const Architecture& architecture, WeightsKind kind) {
  BiasLayout at;
  if (kind == WeightsKind::kCuriosity) {
    at.layer1 = architecture.curiosity_hidden;
    at.count = at.layer1 + 32;
    return at;
  }
  at.layer1 = architecture.hidden1;
  at.layer2 = at.layer1 + architecture.hidden2;
  at.value = at.layer2 + architecture.value_hidden + architecture.advantage_hidden;
  at.advantage = at.value + architecture.value_hidden;
  at.value_bias = at.advantage + tile::kOutputs;
  at.count = at.value_bias + 1;
  return at;
}

WeightsLayout LayOutWeights(const Architecture& architecture, WeightsKind kind, Precision precision,
                            TileForm form) {
  WeightsLayout layout;
  layout.kind = kind;
  layout.form = form;
  layout.architecture = architecture;
  size_t offset = 0;
  const auto take = [&](size_t bytes) {
    const size_t at = offset;
    offset = RoundUp(offset + bytes, kAlignment);
    return at;
  };
  layout.parameters = take(ParameterCount(architecture, kind) * sizeof(float));
  layout.biases = take(BiasesOf(architecture, kind).count * sizeof(float));
  const auto matrix = [&](int index, uint32_t outputs, uint32_t inputs) {
    WeightsLayout::Matrix& m = layout.matrices[index];
    m.outputs = outputs;
    m.inputs = static_cast<uint32_t>(RoundUp(inputs, 8));
    m.f32 = take(size_t{m.outputs} * m.inputs * sizeof(float));
    m.f16 = take(size_t{m.outputs} * m.inputs * sizeof(uint16_t));
  };
  const bool is_curiosity = kind == WeightsKind::kCuriosity;
  if (is_curiosity) {
    matrix(0, architecture.curiosity_hidden, architecture.embedding() + kCategories);
    matrix(1, 32, architecture.curiosity_hidden);
  } else {
    matrix(0, architecture.hidden1, architecture.state());
    matrix(1, architecture.hidden2, architecture.hidden1);
    matrix(2, architecture.value_hidden + architecture.advantage_hidden, architecture.hidden2);
    matrix(3, tile::kOutputs, architecture.advantage_hidden);
  }
  layout.has_images = HasTileWidths(architecture);
  if (layout.has_images) {
    for (const tile::Operand operand : OperandsOf(precision)) {
      const auto place = static_cast<size_t>(operand);
      layout.has_tile[place] = true;
      layout.tile[place] = take(TileImageBytes(kind, operand, form));
      if (HasResidentImage(kind, form, operand)) {
        layout.resident[place] = take(resident::ImageBytes(operand));
      }
    }
  }
  layout.bytes = offset;
  return layout;
}

std::vector<std::byte> BuildWeightsImage(const WeightsLayout& layout, const Parameters& parameters,
                                         const StateRange& states) {
  std::vector<std::byte> image(layout.bytes);
  const Source source(parameters);
  std::memcpy(image.data() + layout.parameters, parameters.values.data(),
              parameters.values.size() * sizeof(float));
  WriteBiases(source, reinterpret_cast<float*>(image.data() + layout.biases));
  for (int i = 0; i < 4; ++i) {
    const WeightsLayout::Matrix& m = layout.matrices[i];
    float* f32 = reinterpret_cast<float*>(image.data() + m.f32);
    for (uint32_t output = 0; output < m.outputs; ++output) {
      for (uint32_t input = 0; input < m.inputs; ++input) {
        const float value = MatrixWeight(source, i, output, input);
        const size_t at = size_t{output} * m.inputs + input;
        f32[at] = value;
        PutHalf(image.data() + m.f16 + at * sizeof(uint16_t), value);
      }
    }
  }
  if (!layout.has_images) return image;
  for (const tile::Operand operand :
       {tile::Operand::kFp16, tile::Operand::kTf32, tile::Operand::kSplit}) {
    const auto place = static_cast<size_t>(operand);
    if (!layout.has_tile[place]) continue;
    WriteTileImage(parameters, operand, layout.form, states, image.data() + layout.tile[place]);
    if (!HasResidentImage(layout.kind, layout.form, operand)) continue;
    resident::WriteImage(
        operand, static_cast<int>(parameters.architecture.features),
        [&](int matrix, int output, int input) {
          if (matrix < 4) return MatrixWeight(source, matrix, output, input);
          return output == 0 ? source.Weight(kValue1, 0, input) : 0.0f;
        },
        image.data() + layout.resident[place]);
  }
  return image;
}

}  // namespace vixen::kernels
