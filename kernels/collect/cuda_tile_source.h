// SPDX-License-Identifier: Apache-2.0
// What both forms of the tile kernels' images are written from: a kind's matrices with the columns
// of a tile row, the powers of two that operands are scaled by, the floats beside the tiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/collect/cuda_range.h"
#include "kernels/collect/cuda_tile_layout.h"
#include "kernels/nn/network.h"

namespace vixen::kernels {

float PowerOfTwo(int exponent);
// What fp16 holds of a value.
float HalfPart(float value);

// Weight of (output, column), zero where there is none. `parameters` must outlive it.
class TileSource {
 public:
  // Order of LayersOf for online and target.
  static constexpr size_t kShared1 = 1, kValue0 = 2, kAdvantage0 = 4, kAdvantage1 = 5;

  explicit TileSource(const Parameters& parameters)
      : parameters_(parameters), layers_(LayersOf(parameters.architecture, parameters.kind)) {}

  float Weight(size_t layer, uint32_t output, uint32_t input) const;
  float Bias(size_t layer, uint32_t output) const;
  // Layer 0 of a network for a tile row's column. The first one-column has the part of the bias
  // that fp16 holds, the second the rest.
  float StateWeight(uint32_t output, uint32_t column) const;
  // Layer 0 of the curiosity model: the first E state columns; no bias.
  float CuriosityWeight(uint32_t output, uint32_t column) const;
  const Architecture& architecture() const { return parameters_.architecture; }

 private:
  const Parameters& parameters_;
  const std::vector<LayerLayout> layers_;
};

// What is scaled by powers of two: nothing, states and layer 0's weights, or every operand.
enum class TileScales : uint8_t { kNone, kFirstLayer, kAll };

// Exponents of states, of the weights of each matrix, of the activations of each layer.
struct TileExponents {
  int state = 0;
  int weights[4] = {0, 0, 0, 0};
  int sums[3] = {0, 0, 0};
};
TileExponents ExponentsOf(TileScales scales, const NetworkRange& range, const StateRange& states);

tile::NetworkConstants NetworkConstantsOf(const TileSource& source, const TileExponents& e);
tile::CuriosityConstants CuriosityConstantsOf(const TileSource& source, const TileExponents& e);

}  // namespace vixen::kernels
