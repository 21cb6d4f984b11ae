// SPDX-License-Identifier: Apache-2.0
// The wgmma passes (sm_90a, TF32, networks of at most 256 a layer): what network_kernels.h hands on
// to where PassShape says so, and which instances there are.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <type_traits>

#include "learner/device/network_kernels.h"
#include "learner/device/tile_layout.h"

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define VIXEN_HAS_WGMMA 1
#else
#define VIXEN_HAS_WGMMA 0
#endif

namespace vixen::learner {

cudaError_t PrepareForwardTiles(const DeviceNetwork& network, const PassShape& shape);
cudaError_t PrepareBackwardTiles(const DeviceNetwork& network, const PassShape& shape);
cudaError_t PrepareWeightGradientTiles(const DeviceNetwork& network, const PassShape& shape);
cudaError_t LaunchForwardTiles(const DeviceNetwork& network, const PassShape& shape,
                               const UpdateSettings& settings, const UpdateBuffers& buffers,
                               cudaStream_t stream);
cudaError_t LaunchBackwardTiles(const DeviceNetwork& network, const PassShape& shape,
                                const UpdateSettings& settings, const UpdateBuffers& buffers,
                                cudaStream_t stream);
cudaError_t LaunchWeightGradientTiles(const DeviceNetwork& network, const PassShape& shape,
                                      const UpdateSettings& settings, const UpdateBuffers& buffers,
                                      cudaStream_t stream);

namespace tile {

template <int kRowsOfBlock>
struct Shape {
  static constexpr int kRows = kRowsOfBlock;
  // Whether the weights come through shared memory: there are no registers left for more of them.
  static constexpr bool kStaged = kRows > 128;
};

inline constexpr int kGroups = 4;  // warpgroups, 64 outputs each
inline constexpr int kThreads = 128 * kGroups;
inline constexpr uint32_t kWidest = kGroups * kOutputs;

inline constexpr uint32_t kStageBytes = 16 * kThreads;  // weights of a step
inline constexpr uint32_t kStages = 4;

// Quarters of 64 columns that a layer's inputs fill in shared memory, with zeros.
VIXEN_HOST_DEVICE constexpr uint32_t QuartersOf(uint32_t inputs) {
  return PaddedFeatures(inputs) / kOutputs;
}
// Those of the widest layer or the head.
VIXEN_HOST_DEVICE uint32_t MostQuarters(const DeviceNetwork& network) {
  return QuartersOf(network.widest > DeviceNetwork::kHeadRows ? network.widest
                                                              : DeviceNetwork::kHeadRows);
}
VIXEN_HOST_DEVICE uint32_t InputBytes(uint32_t rows, const DeviceNetwork& network) {
  return MostQuarters(network) * kOutputs * rows * 4;
}
template <typename Shape>
uint32_t SharedBytes(const DeviceNetwork& network) {
  return InputBytes(Shape::kRows, network) + (Shape::kStaged ? kStages * kStageBytes : 0);
}

// use(Shape<rows>()); cudaErrorInvalidValue where there is no such instance.
template <typename Use>
cudaError_t WithTileRows(int rows, const Use& use) {
  switch (rows) {
    case 64:
      return use(Shape<64>());
    case 128:
      return use(Shape<128>());
    case 192:
      return use(Shape<192>());
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace tile
}  // namespace vixen::learner
