// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "absl/status/status.h"

namespace vixen::learner {

// What is to lie in a GPU's memory, in bytes.
struct MemoryNeed {
  uint64_t capacity = 0;     // rows, for the message
  uint64_t replay = 0;       // rows, priorities and the dataset's features
  uint64_t minibatches = 0;  // TrainerMemory::BytesOfRows
  uint64_t nccl = 0;         // kNcclBytes where ranks may join
};
struct MemoryThere {
  int gpu = 0;
  uint64_t free = 0, all = 0;
};

// FAILED_PRECONDITION with all the numbers where it does not fit beside the networks and what
// CUDA takes by itself.
absl::Status CheckDeviceMemory(const MemoryNeed& need, const MemoryThere& there);

}  // namespace vixen::learner
