// SPDX-License-Identifier: Apache-2.0
// The batched phase of the tiled and the resident algorithm: what a launch computes once its rows
// are there, as tiles over all N·L rows. Widths and devices as of the tile kernels (cuda_tiled.h).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/collect/cuda_launch.h"
#include "kernels/collect/cuda_tile_layout.h"

namespace vixen::kernels {

// Device addresses of one network's image (cuda_tile_image.h).
struct TileNetwork {
  const std::byte* image = nullptr;      // tiles
  const std::byte* constants = nullptr;  // tile::NetworkConstants or CuriosityConstants
};

struct TilePolicy {
  tile::Operand operand = tile::Operand::kFp16;  // what the images hold
  float state_scale = 1.0f;                      // StateScale
  TileNetwork online;
  TileNetwork target;
  TileNetwork curiosity;  // image null: curiosity is off
};

// Target (and with double DQN online) network at s', curiosity, reward, TD error of every row. Only
// enqueues; reads the rows and `scratch` that the sequential phase left.
cudaError_t EnqueueBatchedPhase(const LaunchArguments& launch, const TilePolicy& policy,
                                int multiprocessors, cudaStream_t stream);

}  // namespace vixen::kernels
