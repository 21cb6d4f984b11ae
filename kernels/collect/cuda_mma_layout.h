// SPDX-License-Identifier: Apache-2.0
// Where a weight sits in the images of tiled_mma: shared by the host code that builds them and the
// kernels that read them. Widths as of cuda_tile_layout.h.
//
// mma.sync reads a B operand as fragments: 512 bytes, 16 neurons × 16 inputs of fp16, a lane's four
// words side by side. A warp has a share of each layer's neurons, in two halves; a step is a half's
// two fragments of 16 inputs. An image is, warp by warp, the steps of layers 0 to 2 in the order
// that the warp multiplies them; then the advantage's last layer, which every warp reads for its
// own rows. fp16 and, scaled, tf32; fp32's split products have the form of cuda_split_layout.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/collect/cuda_tile_layout.h"

namespace vixen::kernels::tile {

inline constexpr int kMmaWarps = 4;
inline constexpr int kMmaRows = 16 * kMmaWarps;          // of a tile
inline constexpr int kMmaNeurons = kHidden / kMmaWarps;  // of a layer, a warp
inline constexpr int kMmaFragmentBytes = 512;
inline constexpr int kMmaHalves = 2;
inline constexpr int kMmaGroups = kMmaNeurons / 16 / kMmaHalves;  // fragments of a step
inline constexpr int kMmaStepBytes = kMmaGroups * kMmaFragmentBytes;
inline constexpr int kMmaStateSteps = kStateWidth / 16;
inline constexpr int kMmaHiddenSteps = kHidden / 16;
inline constexpr int kMmaLastSteps = kStream / 16;
inline constexpr size_t kMmaWarpBytes =
    size_t{kMmaHalves} * (kMmaStateSteps + 2 * kMmaHiddenSteps) * kMmaStepBytes;

// Fragments of a matrix that is there step by step.
VIXEN_HOST_DEVICE constexpr size_t MmaMatrixBytes(int neurons, int inputs) {
  return static_cast<size_t>(neurons) * inputs / 256 * kMmaFragmentBytes;
}
inline constexpr size_t kMmaNetworkBytes =
    kMmaWarps * kMmaWarpBytes + MmaMatrixBytes(kOutputs, kStream);
// Layer 0 (64 neurons), then layer 1 (32 neurons) of the curiosity model.
inline constexpr size_t kMmaCuriosityBytes =
    MmaMatrixBytes(64, kStateWidth) + MmaMatrixBytes(32, 64);
// Byte of neuron `row` and input `k`, both below 16, in a fragment.
VIXEN_HOST_DEVICE constexpr size_t MmaFragmentOffset(int row, int k) {
  return (row % 8 * 4 + k % 8 / 2) * 16 + row / 8 * 8 + k / 8 * 4 + k % 2 * 2;
}

}  // namespace vixen::kernels::tile
