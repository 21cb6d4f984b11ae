// SPDX-License-Identifier: Apache-2.0
// Where an element lies in what the wgmma passes copy as a whole into shared memory.
#pragma once

#include <cstdint>

#include "kernels/env/host_device.h"

namespace vixen::learner::tile {

inline constexpr uint32_t kOutputs = 64;    // of one warpgroup's product
inline constexpr uint32_t kStepInputs = 8;  // tf32 of one instruction
inline constexpr uint32_t kRowBlock = 32;   // rows of a block of features × rows: 128 bytes

// Of a layer's inputs or outputs in whole tiles of 64, with zeros.
VIXEN_HOST_DEVICE constexpr uint32_t PaddedFeatures(uint32_t width) {
  return (width + 63) / 64 * 64;
}

// Byte of a row of 128 bytes in the 128-byte swizzle.
VIXEN_HOST_DEVICE constexpr uint32_t Swizzled(uint32_t row, uint32_t byte) {
  return row * 128 + ((byte / 16) ^ (row % 8)) * 16 + byte % 16;
}

// Byte of element [row, column] of a block's inputs in shared memory: tiles of `rows` × 32 columns.
VIXEN_HOST_DEVICE constexpr uint32_t InputByte(uint32_t rows, uint32_t row, uint32_t column) {
  return column / 32 * rows * 128 + Swizzled(row, column % 32 * 4);
}

// Where a row lies among its 32 in a transposed buffer: the four that a thread holds of sixteen, as
// wgmma leaves sums, side by side. Any order will do for k, if both operands have the same.
VIXEN_HOST_DEVICE constexpr uint32_t RowPlace(uint32_t row) {
  return row / 16 * 16 + row % 8 / 2 * 4 + row / 8 % 2 * 2 + row % 2;
}

}  // namespace vixen::learner::tile
