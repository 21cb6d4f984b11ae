// SPDX-License-Identifier: Apache-2.0
// What the trainers carry from update to update, on the host. No LibTorch.
#pragma once

#include <cstdint>

#include "kernels/nn/network.h"

namespace vixen::learner {

// Adam's moments, an entry a parameter in the contract's layout, and its step count.
struct OptimizerCut {
  kernels::Parameters first, second;
  float steps = 0;
};

struct TrainerCut {
  kernels::Parameters online, target;
  OptimizerCut optimizer;
  uint64_t updates = 0;
};

struct CuriosityCut {
  kernels::Parameters weights;
  OptimizerCut optimizer;
};

}  // namespace vixen::learner
