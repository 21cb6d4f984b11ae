// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/nn/network.h"
#include "learner/trainer/trainer_cut.h"

namespace vixen::learner {

// A curiosity model that is being trained: by LibTorch (curiosity_trainer.h), or beside the updates
// of a GPU's graph (learner/device). One thread.
class Curiosity {
 public:
  virtual ~Curiosity() = default;

  virtual absl::StatusOr<kernels::Parameters> Export() const = 0;
  virtual absl::StatusOr<CuriosityCut> Save() const = 0;
  // INVALID_ARGUMENT when the cut is of another architecture.
  virtual absl::Status Restore(const CuriosityCut& cut) = 0;
};

}  // namespace vixen::learner
