// SPDX-License-Identifier: Apache-2.0
// One kind's parameters as the kernels read them: the flat float32 parameters as they came, biases,
// the matrices padded for matrix units in float32 and fp16, and the images of the tile kernels. One
// allocation, so that staging is one copy to the device and committing one copy on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/collect/collector.h"
#include "kernels/collect/cuda_range.h"
#include "kernels/collect/cuda_tile_image.h"
#include "kernels/nn/network.h"

namespace vixen::kernels {

// Byte offsets into the image; every part starts at a multiple of 1,024.
struct WeightsLayout {
  WeightsKind kind = WeightsKind::kOnline;
  Architecture architecture;
  size_t parameters = 0;  // float [ParameterCount], in the order of LayersOf
  size_t biases = 0;      // float, see BiasLayout
  // Row-major [outputs, inputs rounded up to 8], float and fp16; networks use 0…3, curiosity 0
  // and 1.
  struct Matrix {
    uint32_t outputs =
        0;  // value and advantage streams side by side in 2; 3 is the advantage's last
    uint32_t inputs = 0;  // rounded up
    size_t f32 = 0;
    size_t f16 = 0;
  };
  Matrix matrices[4];
  // Tile images (cuda_tile_image.h), by tile::Operand; only those that the precision may need.
  size_t tile[3] = {0, 0, 0};
  bool has_tile[3] = {false, false, false};
  TileForm form = TileForm::kSwizzled;
  // The online network's images for the resident kernel, likewise.
  size_t resident[3] = {0, 0, 0};
  bool has_images = false;
  size_t bytes = 0;
};

// Floats inside WeightsLayout::biases, one layer after the other.
struct BiasLayout {
  uint32_t layer0 = 0;      // [H1] or [HC]
  uint32_t layer1 = 0;      // [H2] or [E]
  uint32_t layer2 = 0;      // [HV + HA]
  uint32_t value = 0;       // [HV], the value stream's last weights
  uint32_t advantage = 0;   // [48]: 45 biases, zeros
  uint32_t value_bias = 0;  // [1]
  uint32_t count = 0;
};

BiasLayout BiasesOf(const Architecture& architecture, WeightsKind kind);
WeightsLayout LayOutWeights(const Architecture& architecture, WeightsKind kind,
                            Precision precision = Precision::kAuto,
                            TileForm form = TileForm::kSwizzled);

// The whole image. Values beyond fp16's range become ±65,504 in its fp16 parts: the range
// (cuda_range.h) says whether they may be used. `states`: what the launches' states stay within.
std::vector<std::byte> BuildWeightsImage(const WeightsLayout& layout, const Parameters& parameters,
                                         const StateRange& states = {});

}  // namespace vixen::kernels
