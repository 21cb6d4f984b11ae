// SPDX-License-Identifier: Apache-2.0
// Training of the curiosity model beside the updates of a graph: one hidden layer of plain
// multiply-adds, mean squared error, Adam (curiosity_trainer.h is the reference). Host-callable;
// every function only enqueues on the stream, and may be captured.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/env/host_device.h"
#include "learner/device/sum_tree.h"
#include "learner/device/update_buffers.h"

namespace vixen::learner {

// Pointers into device memory, passed by value. E the embedding, H the hidden width; parameters in
// the contract's order.
struct CuriosityView {
  static constexpr uint32_t kMostBlocks = 64;
  static constexpr uint32_t kMostHidden = 128;  // what fits a block's shared memory

  uint32_t embedding = 0, hidden = 0;
  uint32_t period = 0;  // in updates; 0: no model is trained
  double learning_rate = 1e-3;
  float* parameters = nullptr;  // [count]
  float* first = nullptr;       // Adam's moments
  float* second = nullptr;
  float* partial = nullptr;     // [blocks, count] gradients
  double* loss_part = nullptr;  // [blocks]

  VIXEN_HOST_DEVICE uint32_t inputs() const { return embedding + 3; }  // and a one-hot category
  VIXEN_HOST_DEVICE uint32_t count() const {
    return hidden * (inputs() + 1) + embedding * (hidden + 1);
  }
};

// Trains on the rows of update `index` of the launch where the period ends with it; nothing after
// an update that was not finite. Its loss goes to the update's statistics.
cudaError_t LaunchCuriosity(const ReplayView& replay, const DeviceNetwork& network,
                            const UpdateSettings& settings, const CuriosityView& curiosity,
                            const UpdateBuffers& buffers, uint32_t index, cudaStream_t stream);

}  // namespace vixen::learner
