// SPDX-License-Identifier: Apache-2.0
// The tiles of an image for mma.sync, as fragments: cuda_mma_layout.h, of split operands
// cuda_split_layout.h. Writes TileImageTiles to `out`.
#pragma once

#include <cstddef>

#include "kernels/collect/cuda_tile_source.h"

namespace vixen::kernels {

void WriteMmaNetwork(const TileSource& source, tile::Operand operand, const TileExponents& e,
                     std::byte* out);
void WriteMmaCuriosity(const TileSource& source, tile::Operand operand, const TileExponents& e,
                       std::byte* out);

}  // namespace vixen::kernels
