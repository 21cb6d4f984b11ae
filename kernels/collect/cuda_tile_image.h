// SPDX-License-Identifier: Apache-2.0
// The tile kernels' form of one kind's weights, for one way of computing products: tiles in the
// order that the kernel reads them, then the floats beside them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/collect/cuda_range.h"
#include "kernels/collect/cuda_tile_layout.h"
#include "kernels/nn/network.h"

namespace vixen::kernels {

// Swizzled tiles for wgmma (cuda_tile_layout.h), or fragments for mma.sync (cuda_mma_layout.h).
enum class TileForm : uint8_t { kSwizzled = 0, kFragments = 1 };

// Bytes of the tiles, and of tiles and constants.
size_t TileImageTiles(WeightsKind kind, tile::Operand operand, TileForm form);
size_t TileImageBytes(WeightsKind kind, tile::Operand operand, TileForm form);

// Writes TileImageBytes to `out`. Default hidden widths, F ≤ 59, E = 32. Beyond fp16's range values
// become ±65,504. `states`: what the launches' states stay within; the power of two by which
// states are scaled follows from it (StateScale).
void WriteTileImage(const Parameters& parameters, tile::Operand operand, TileForm form,
                    const StateRange& states, std::byte* out);

// What a state is multiplied by before it becomes an operand; 1 for fp16.
float StateScale(tile::Operand operand, const StateRange& states);

}  // namespace vixen::kernels
