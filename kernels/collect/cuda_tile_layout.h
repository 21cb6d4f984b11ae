// SPDX-License-Identifier: Apache-2.0
// Where a weight sits in the images of the tile and the resident kernel: shared by the host code
// that builds them and the kernels that read them. Widths: 64 state columns (zeros beyond S),
// hidden 256 and 256, value and advantage 128 each, 48 outputs (45 actions, zeros), curiosity 64
// and 32. fp16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/env/host_device.h"

namespace vixen::kernels::tile {

// How the tile kernels compute a product: fp16 operands, tf32 operands, or float32 split into two
// fp16 each, three products (`fp32`).
enum class Operand : uint8_t { kFp16 = 0, kTf32 = 1, kSplit = 2 };

inline constexpr int kStateWidth = 64;
inline constexpr int kHidden = 256;
inline constexpr int kStream = 128;
inline constexpr int kOutputs = 48;

// The state column at position k of the first layer's products: each of the four lanes of a
// fragment row holds 16 neighbouring columns, so that it can load them as 32 bytes.
VIXEN_HOST_DEVICE int StateColumn(int k) {
  const int step = k / 16;
  const int place = k % 16;
  const int lane = place % 8 / 2;
  return 16 * lane + 4 * step + place / 8 * 2 + place % 2;
}

// --- The tile kernel's stream
// ----------------------------------------------------------------------- A tile is `rows` neurons
// × 64 inputs: 128 bytes a row, 16-byte chunks swizzled by the row (the 128-byte swizzle of wgmma
// descriptors).
VIXEN_HOST_DEVICE constexpr size_t TileBytes(int rows) { return static_cast<size_t>(rows) * 128; }
VIXEN_HOST_DEVICE constexpr size_t TileOffset(int row, int k) {
  return static_cast<size_t>(row) * 128 + ((k / 8) ^ (row & 7)) * 16 + k % 8 * 2;
}
// Stages of one network pass: 4 × (64 neurons of layer 0, then layer 1's 256 rows of those 64
// inputs); 4 × two tiles of 128 rows of layer 2 (value stream, then advantage stream); the
// advantage's last layer.
inline constexpr int kStages = 9;
inline constexpr int kStageBytes = 40960;  // the largest
VIXEN_HOST_DEVICE constexpr int StageBytes(int stage) {
  return stage < 4 ? 40960 : stage < 8 ? 32768 : 12288;
}
inline constexpr size_t kPassBytes = 4 * 40960 + 4 * 32768 + 12288;
// Curiosity: layer 0 (64 × 64: state columns below E, the category is part of the bias), layer 1
// (32 × 64).
inline constexpr size_t kCuriosityBytes = 8192 + 4096;

// --- The resident kernel's fragments
// ---------------------------------------------------------------- A operands of mma.m16n8k16: 32
// lanes × 4 words. Warp w of 8 owns neurons 32w … 32w+31 of every hidden layer, two blocks of 16.
inline constexpr int kWarps = 8;
inline constexpr int kFragments0 = 8;   // [block 2][step 4]
inline constexpr int kFragments1 = 32;  // [step 16][block 2]
inline constexpr int kFragments2 = 32;  // [step 16][block 2]
inline constexpr int kFragments3 = 6;   // [output block 3][step 2 of the warp's own neurons]
inline constexpr size_t kFragmentBytes = 512;
inline constexpr int kFragment1 = kFragments0 * kWarps;
inline constexpr int kFragment2 = kFragment1 + kFragments1 * kWarps;
inline constexpr int kFragment3 = kFragment2 + kFragments2 * kWarps;
inline constexpr int kFragments = kFragment3 + kFragments3 * kWarps;
inline constexpr size_t kResidentBytes = kFragments * kFragmentBytes;

// Row and column inside a 16×16 block of half `u` of word `r` of lane `lane`.
VIXEN_HOST_DEVICE int FragmentRow(int lane, int r) { return lane / 4 + (r & 1) * 8; }
VIXEN_HOST_DEVICE int FragmentColumn(int lane, int r, int u) {
  return lane % 4 * 2 + (r >> 1) * 8 + u;
}

}  // namespace vixen::kernels::tile
