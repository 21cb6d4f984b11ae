// SPDX-License-Identifier: Apache-2.0
// Where an element lies in what the wgmma passes copy as a whole into shared memory.
#pragma once

#include <cstdint>

#include "kernels/env/host_device.h"

namespace vixen::learner::tile {

inline constexpr uint32_t kOutputs = 64;    // of one warpgroup's product
inline constexpr uint32_t kStepInputs = 8;  // tf32 of one instruction
inline constexpr uint32_t kRowBlock = 32;   // rows of a block of features × rows: 128 bytes

VIXEN_HOST_DEVICE constexpr uint32_t PaddedFeatures(uint32_t width) {
  return (width + 63) / 64 * 64;
}
// Columns of a block's inputs in shared memory: whole tiles, with zeros.
VIXEN_HOST_DEVICE constexpr uint32_t PaddedInputs(uint32_t width) { return (width + 31) / 32 * 32; }

// Byte of a row of 128 bytes in the 128-byte swizzle.
VIXEN_HOST_DEVICE constexpr uint32_t Swizzled(uint32_t row, uint32_t byte) {
  return row * 128 + ((byte / 16) ^ (row % 8)) * 16 + byte % 16;
}

// Byte of element [row, column] of a block's inputs in shared memory: tiles of `rows` × 32 columns.
VIXEN_HOST_DEVICE constexpr uint32_t InputByte(uint32_t rows, uint32_t row, uint32_t column) {
  return column / 32 * rows * 128 + Swizzled(row, column % 32 * 4);
}

// Byte of element [feature, row] of a transposed buffer of PaddedFeatures `features`: blocks of 32
// rows, in each a row of 128 bytes a feature.
VIXEN_HOST_DEVICE constexpr uint32_t TransposedByte(uint32_t features, uint32_t feature,
                                                    uint32_t row) {
  return row / kRowBlock * features * 128 + Swizzled(feature, row % kRowBlock * 4);
}

}  // namespace vixen::learner::tile
