// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/cuda/buffer.h"
#include "learner/device/network_kernels.h"
#include "learner/trainer/trainer_cut.h"

namespace vixen::learner {

// Everything of the trainer that lies in device memory: networks, moments, activations and two
// minibatches, so that the next one is drawn while the weights of this one are being updated.
class TrainerMemory {
 public:
  static constexpr int kMinibatches = 2;

  // What grows with the rows of a minibatch: activations, gradients, states, and what is little.
  static uint64_t BytesOfRows(const DeviceNetwork& network, DevicePrecision precision,
                              uint32_t rows);

  // RESOURCE_EXHAUSTED. `launch`: most updates of one launch.
  absl::Status Allocate(const DeviceNetwork& network, const PassShape& shape,
                        const UpdateSettings& settings, uint64_t launch);
  // As the kernels of update `index` of a launch see it.
  const UpdateBuffers& of(uint64_t index) const { return views_[index % kMinibatches]; }

  // Whether another rank is lost: nothing more is applied, by the running launch either. Host
  // memory, 0 so far.
  void SetLost(bool lost) { *lost_.data() = lost ? 1 : 0; }

  // Between host and device, in the contract's layout; each waits.
  absl::Status Upload(const DeviceNetwork& network, const kernels::Parameters& from, float* to,
                      cudaStream_t stream);
  absl::StatusOr<kernels::Parameters> Download(const DeviceNetwork& network, const float* from,
                                               const kernels::Architecture& architecture,
                                               kernels::WeightsKind kind,
                                               cudaStream_t stream) const;

 private:
  template <typename T>
  absl::Status Take(T*& pointer, size_t count);
  absl::Status TakeBytes(void*& pointer, size_t bytes);

  std::vector<kernels::DeviceBuffer<std::byte>> buffers_;
  kernels::PinnedBuffer<uint32_t> lost_;
  UpdateBuffers views_[kMinibatches];
};

}  // namespace vixen::learner
