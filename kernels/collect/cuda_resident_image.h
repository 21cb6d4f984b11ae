// SPDX-License-Identifier: Apache-2.0
// Where a weight of the online network sits in the image of the resident kernel: shared by the host
// code that builds it and the kernel that reads it. Two blocks of a cluster share the network: of
// layers 1 and 2 and the last one block `rank` has half of the neurons, of layer 0 all. Widths as
// of the tile kernels (cuda_tile_layout.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "kernels/collect/cuda_tile_layout.h"
#include "kernels/env/host_device.h"

namespace vixen::kernels::resident {

inline constexpr int kCluster = 2;
inline constexpr int kWarps = 8;  // that multiply

// A fragment holds 16 neurons × 16 columns as A operands of one mma.m16n8k16 of fp16, two m16n8k8
// of tf32, or two of fp16 (high halves, then low halves · 2^11): [words / 4][lane][4 words].
inline constexpr int kGroup = 16;
VIXEN_HOST_DEVICE constexpr int FragmentWords(tile::Operand operand) {
  return operand == tile::Operand::kFp16 ? 4 : 8;
}
VIXEN_HOST_DEVICE constexpr size_t FragmentBytes(tile::Operand operand) {
  return FragmentWords(operand) * 128u;
}

inline constexpr int kGroups0 = tile::kStateWidth / kGroup;
inline constexpr int kGroups1 = tile::kHidden / kGroup;  // of layers 1 and 2
inline constexpr int kGroups3 = 64 / kGroup;             // a rank's share of one stream
inline constexpr int kBlocks3 = 4;                       // advantages 3 × 16, value 1

VIXEN_HOST_DEVICE constexpr int Fragment0(int warp, int block, int group) {
  return (warp * 2 + block) * kGroups0 + group;
}
VIXEN_HOST_DEVICE constexpr int Fragment1(int rank, int warp, int group) {
  return 64 + (rank * kWarps + warp) * kGroups1 + group;
}
VIXEN_HOST_DEVICE constexpr int Fragment2(int rank, int warp, int group) {
  return 320 + (rank * kWarps + warp) * kGroups1 + group;
}
VIXEN_HOST_DEVICE constexpr int Fragment3(int rank, int block, int group) {
  return 576 + (rank * kBlocks3 + block) * kGroups3 + group;
}
inline constexpr int kFragments = 608;

// Neuron of row `row` of a fragment: a lane's sums of rows r and r + 8 (and in layer 0 of both
// blocks) are neighbours, so that they are one store.
VIXEN_HOST_DEVICE constexpr int Neuron0(int warp, int block, int row) {
  return 32 * warp + 4 * (row % 8) + 2 * block + row / 8;
}
// Of layers 1 and 2, inside the rank's 128.
VIXEN_HOST_DEVICE constexpr int Neuron(int warp, int row) {
  return 16 * warp + 2 * (row % 8) + row / 8;
}
// Row of the matrix [value stream ‖ advantage stream] that is neuron `i` of a rank's layer 2: 64 of
// each.
VIXEN_HOST_DEVICE constexpr int StreamRow(int rank, int i) {
  return i < 64 ? 64 * rank + i : tile::kStream + 64 * rank + i - 64;
}

// Layer 0's weights of the three portfolio features stay in float32, float4 a neuron behind the
// fragments; in the fragments those columns are zero.
VIXEN_HOST_DEVICE constexpr size_t PortfolioOffset(tile::Operand operand) {
  return kFragments * FragmentBytes(operand);
}
// tf32 has a second image behind its own, that of fp16: weights of 11 significant bits either way,
// for the kernel that splits activations in two fp16.
VIXEN_HOST_DEVICE constexpr size_t HalvesOffset(tile::Operand operand) {
  return PortfolioOffset(operand) + tile::kHidden * 16;
}
VIXEN_HOST_DEVICE constexpr size_t ImageBytes(tile::Operand operand) {
  return HalvesOffset(operand) +
         (operand == tile::Operand::kTf32 ? HalvesOffset(tile::Operand::kFp16) : 0);
}

// Weight [output, input] of layer 0, of layer 1, of the streams side by side, of the advantage's
// last layer, and (matrix 4) of the value's; zero beyond their widths.
using WeightSource = std::function<float(int matrix, int output, int input)>;
void WriteImage(tile::Operand operand, int features, const WeightSource& weight, std::byte* out);

}  // namespace vixen::kernels::resident
