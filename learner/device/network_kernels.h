// SPDX-License-Identifier: Apache-2.0
// Forward and backward pass, the weights' gradients, and the step. Host-callable; every function
// only enqueues on the stream, and may be captured.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "learner/device/update_buffers.h"

namespace vixen::learner {

// How the passes are cut into blocks for a device and a batch; the same in every launch.
struct PassShape {
  DevicePrecision precision = DevicePrecision::kTf32;
  int tiles = 1;          // 16-row tiles of outputs a warp: 16 warps cover 256·tiles outputs
  int forward_rows = 32;  // rows of the minibatch a block
  int backward_rows = 32;
  int splits = 8;  // most parts of the rows in the weights' gradients
  // By wgmma (sm_90a, TF32): operands and transposed buffers in the order of tile_layout.h.
  bool wgmma = false;
  uint32_t split_rows[DeviceNetwork::kLayers] = {};  // then, of a part of a layer's gradients
  uint32_t backward_blocks(uint32_t rows) const {
    const auto block = static_cast<uint32_t>(backward_rows);
    return (rows + block - 1) / block;
  }
  // Parts of a layer's gradients.
  uint32_t splits_of(uint32_t layer, uint32_t rows) const;
};

struct PassDevice {
  int capability = 0;  // 90: 9.0
  int multiprocessors = 0;
  size_t shared_bytes = 0;  // that a block may have
};

// Rows that a minibatch of `batch` is padded to.
uint32_t PaddedRows(uint32_t batch);
// Chooses for a device of so many multiprocessors and bytes of shared memory a block; kBest and
// kWgmma take wgmma where device, precision and network allow it, kBest for minibatches that gain.
PassShape ChoosePassShape(const DeviceNetwork& network, DevicePrecision precision, uint32_t rows,
                          const PassDevice& device, PassAlgorithm algorithm = PassAlgorithm::kBest);
size_t ElementBytes(DevicePrecision precision);

// Once before the first launch: opts in to shared memory.
cudaError_t PreparePasses(const DeviceNetwork& network, const PassShape& shape);
cudaError_t PrepareWeightGradients(const DeviceNetwork& network, const PassShape& shape);

// What the loss needs of Q (s and s_m), and for s the inputs of the layers.
cudaError_t LaunchForward(const DeviceNetwork& network, const PassShape& shape,
                          const UpdateSettings& settings, const UpdateBuffers& buffers,
                          cudaStream_t stream);
// Loss, |td|, and the gradients of the layers' sums.
cudaError_t LaunchBackward(const DeviceNetwork& network, const PassShape& shape,
                           const UpdateSettings& settings, const UpdateBuffers& buffers,
                           cudaStream_t stream);
// Gradients of the weights and biases, in `splits` parts.
cudaError_t LaunchWeightGradients(const DeviceNetwork& network, const PassShape& shape,
                                  const UpdateSettings& settings, const UpdateBuffers& buffers,
                                  cudaStream_t stream);

// Sums the parts, in order, into the gradient; its norm, the statistics of update `index` of the
// launch, and whether the step is made.
cudaError_t LaunchReduce(const DeviceNetwork& network, const PassShape& shape,
                         const UpdateSettings& settings, const UpdateBuffers& buffers,
                         uint32_t index, cudaStream_t stream);
// Where several ranks train together, in two steps: the parts into the gradient with this rank's
// figures behind it; then, from the sum over the ranks in buffers.partial, × share, what
// LaunchReduce does.
cudaError_t LaunchReduceOwn(const DeviceNetwork& network, const PassShape& shape,
                            const UpdateSettings& settings, const UpdateBuffers& buffers,
                            uint32_t index, cudaStream_t stream);
cudaError_t LaunchReduceJoint(const DeviceNetwork& network, const UpdateSettings& settings,
                              const UpdateBuffers& buffers, uint32_t index, float share,
                              cudaStream_t stream);
// Clip, Adam, target sync, operand images.
cudaError_t LaunchStep(const DeviceNetwork& network, const PassShape& shape,
                       const UpdateSettings& settings, const UpdateBuffers& buffers, uint32_t index,
                       cudaStream_t stream);
// The operand images from the parameters, after a change from outside.
cudaError_t LaunchImages(const DeviceNetwork& network, const PassShape& shape,
                         const UpdateBuffers& buffers, cudaStream_t stream);
// Blocks of the reduction, the length of norm_part.
uint32_t ReduceBlocks(const DeviceNetwork& network);

}  // namespace vixen::learner
