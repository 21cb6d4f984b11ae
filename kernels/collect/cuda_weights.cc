// SPDX-License-Identifier: Apache-2.0
#include "kernels/collect/cuda_weights.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/collect/cuda_tile_layout.h"
#include "kernels/env/settings.h"

namespace vixen::kernels {
namespace {

constexpr size_t kAlignment = 1024;
constexpr float kLargestHalf = 65504.0f;

size_t RoundUp(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

uint16_t HalfBits(float value) {
  return __half_as_ushort(__float2half_rn(std::clamp(value, -kLargestHalf, kLargestHalf)));
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

void PutHalf(std::byte* at, float value) {
  const uint16_t bits = HalfBits(value);
  std::memcpy(at, &bits, sizeof(bits));
}

// One tile: `weight(row, k)` for rows × 64 inputs.
template <typename Weight>
std::byte* WriteTile(std::byte* out, int rows, const Weight& weight) {
  for (int row = 0; row < rows; ++row) {
    for (int k = 0; k < 64; ++k) PutHalf(out + tile::TileOffset(row, k), weight(row, k));
  }
  return out + tile::TileBytes(rows);
}

void WriteNetworkTiles(const Source& source, std::byte* out) {
  const auto weight = [&](int matrix, int output, int input) {
    return MatrixWeight(source, matrix, output, input);
  };
  for (int chunk = 0; chunk < 4; ++chunk) {
    out = WriteTile(
        out, 64, [&](int row, int k) { return weight(0, 64 * chunk + row, tile::StateColumn(k)); });
    out = WriteTile(out, 256, [&](int row, int k) { return weight(1, row, 64 * chunk + k); });
  }
  for (int stream = 0; stream < 2; ++stream) {
    for (int chunk = 0; chunk < 4; ++chunk) {
      out = WriteTile(
          out, 128, [&](int row, int k) { return weight(2, 128 * stream + row, 64 * chunk + k); });
    }
  }
  for (int chunk = 0; chunk < 2; ++chunk) {
    out = WriteTile(out, 48, [&](int row, int k) { return weight(3, row, 64 * chunk + k); });
  }
}

void WriteCuriosityTiles(const Source& source, std::byte* out) {
  const int embedding = source.parameters.architecture.embedding();
  out = WriteTile(out, 64, [&](int row, int k) {
    const int column = tile::StateColumn(k);
    return column < embedding ? MatrixWeight(source, 0, row, column) : 0.0f;
  });
  WriteTile(out, 32, [&](int row, int k) { return MatrixWeight(source, 1, row, k); });
}

// Fragment `index`: `weight(row, k)` of a 16×16 block.
template <typename Weight>
void WriteFragment(std::byte* image, int index, const Weight& weight) {
  std::byte* out = image + index * tile::kFragmentBytes;
  for (int lane = 0; lane < 32; ++lane) {
    for (int r = 0; r < 4; ++r) {
      for (int u = 0; u < 2; ++u, out += 2) {
        PutHalf(out, weight(tile::FragmentRow(lane, r), tile::FragmentColumn(lane, r, u)));
      }
    }
  }
}

void WriteResidentFragments(const Source& source, std::byte* image) {
  for (int w = 0; w < tile::kWarps; ++w) {
    for (int block = 0; block < 2; ++block) {
      const int first = 32 * w + 16 * block;
      for (int step = 0; step < 4; ++step) {
        WriteFragment(image, w * tile::kFragments0 + block * 4 + step, [&](int row, int k) {
          return MatrixWeight(source, 0, first + row, tile::StateColumn(16 * step + k));
        });
      }
      for (int step = 0; step < 16; ++step) {
        const int place = step * 2 + block;
        WriteFragment(image, tile::kFragment1 + w * tile::kFragments1 + place, [&](int row, int k) {
          return MatrixWeight(source, 1, first + row, 16 * step + k);
        });
        WriteFragment(image, tile::kFragment2 + w * tile::kFragments2 + place, [&](int row, int k) {
          return MatrixWeight(source, 2, first + row, 16 * step + k);
        });
      }
    }
    // Warps 0…3 hold the value stream: row 0 of the first block is its last layer. Warps 4…7 hold
    // the advantage stream: three blocks of outputs.
    for (int block = 0; block < 3; ++block) {
      for (int step = 0; step < 2; ++step) {
        WriteFragment(image, tile::kFragment3 + w * tile::kFragments3 + block * 2 + step,
                      [&](int row, int k) {
                        const int input = 32 * w + 16 * step + k;
                        if (w >= 4) return MatrixWeight(source, 3, 16 * block + row, input - 128);
                        return block == 0 && row == 0 ? source.Weight(kValue1, 0, input) : 0.0f;
                      });
      }
    }
  }
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

bool HasTileWidths(const Architecture& a) {
  return a.state() <= tile::kStateWidth && a.state() >= 32 && a.hidden1 == 256 &&
         a.hidden2 == 256 && a.value_hidden == 128 && a.advantage_hidden == 128 &&
         a.curiosity_hidden == 64;
}

WeightsLayout LayOutWeights(const Architecture& architecture, WeightsKind kind) {
  WeightsLayout layout;
  layout.kind = kind;
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
    layout.tile = take(is_curiosity ? tile::kCuriosityBytes : tile::kPassBytes);
    layout.resident = take(is_curiosity ? 0 : tile::kResidentBytes);
  }
  layout.bytes = offset;
  return layout;
}

bool FitsFp16(const Parameters& parameters) {
  return std::all_of(parameters.values.begin(), parameters.values.end(),
                     [](float value) { return std::fabs(value) <= kLargestHalf; });
}

std::vector<std::byte> BuildWeightsImage(const WeightsLayout& layout,
                                         const Parameters& parameters) {
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
  if (layout.kind == WeightsKind::kCuriosity) {
    WriteCuriosityTiles(source, image.data() + layout.tile);
  } else {
    WriteNetworkTiles(source, image.data() + layout.tile);
    WriteResidentFragments(source, image.data() + layout.resident);
  }
  return image;
}

}  // namespace vixen::kernels
