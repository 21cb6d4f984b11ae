// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/buffer.h"
#include "learner/curiosity/curiosity.h"
#include "learner/device/curiosity.h"
#include "learner/device/device_updater.h"

namespace vixen::learner {

// The curiosity model in device memory, trained by the kernels of curiosity.h. Every function but
// view() and Trained() waits for the stream.
class DeviceCuriosity : public Curiosity {
 public:
  // INVALID_ARGUMENT where the weights are of another architecture, RESOURCE_EXHAUSTED. The stream
  // must outlive this.
  absl::Status Start(const kernels::Architecture& architecture, const CuriosityTraining& training,
                     cudaStream_t stream);

  const CuriosityView& view() const { return view_; }
  uint64_t steps() const { return steps_; }  // of Adam
  void Trained(uint64_t updates) { steps_ += updates; }

  absl::StatusOr<kernels::Parameters> Export() const override;
  absl::StatusOr<CuriosityCut> Save() const override;
  absl::Status Restore(const CuriosityCut& cut) override;

 private:
  absl::Status Upload(const kernels::Parameters& from, float* to);
  absl::StatusOr<kernels::Parameters> Download(const float* from) const;

  kernels::Architecture architecture_;
  cudaStream_t stream_ = nullptr;
  CuriosityView view_;
  uint64_t steps_ = 0;
  kernels::DeviceBuffer<float> parameters_, first_, second_, partial_;
  kernels::DeviceBuffer<double> loss_part_;
};

}  // namespace vixen::learner
