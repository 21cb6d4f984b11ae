// SPDX-License-Identifier: Apache-2.0
// Where a weight sits in the images of tiled_mma for fp32's split products: shared by the host code
// that builds them and the kernels that read them. Widths as of cuda_tile_layout.h.
//
// A unit is N neurons × 16 inputs of fp16, a block of 16 neurons being a fragment as of
// cuda_mma_layout.h; a unit of high parts comes before the one of their low parts. Layers 0 and 1
// in chunks of 16 neurons of layer 0, each in two stages: a unit of layer 1, high then low, and
// before it half of layer 0 for the chunk after; the first chunk's layer 0 stands alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/collect/cuda_tile_layout.h"

namespace vixen::kernels::tile {

inline constexpr int kSplitChunk = 16;
inline constexpr int kSplitChunks = kHidden / kSplitChunk;
inline constexpr int kSplitChunkStages = 2;
inline constexpr int kSplitLayer0Bytes = Layer0Bytes(Operand::kSplit, kSplitChunk) / 2;
VIXEN_HOST_DEVICE constexpr size_t SplitUnitBytes(int neurons) {
  return static_cast<size_t>(neurons) * 32;
}
inline constexpr int kSplitStageBytes = 10240;  // the largest
inline constexpr int kSplitLayer1Bytes = 8192;  // a unit of 256 neurons
inline constexpr int kSplitStreamBytes = 8192;  // a stage of layer 2: 2 units of 128 neurons
inline constexpr int kSplitLastBytes = 6144;    // of the last layer: 4 units of 48
static_assert(kSplitLayer0Bytes + kSplitLayer1Bytes <= kSplitStageBytes);
inline constexpr int kSplitStreamStages = kHidden / 16;  // a stream
inline constexpr int kSplitLastStages = kStream / 32;
inline constexpr int kSplitNetworkStages =
    1 + kSplitChunks * kSplitChunkStages + 2 * kSplitStreamStages + kSplitLastStages;
// Layer 0 of the curiosity model takes two stages, its layer 1 one.
inline constexpr int kSplitCuriosityBytes = Layer0Bytes(Operand::kSplit, 64) / 2;
static_assert(kSplitCuriosityBytes <= kSplitStageBytes);

}  // namespace vixen::kernels::tile
