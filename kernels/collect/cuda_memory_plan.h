// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kernels/collect/algorithm.h"
#include "kernels/collect/collector.h"

namespace vixen::kernels {

// What device memory goes to.
struct MemoryPlan {
  struct Part {
    std::string name;
    uint64_t bytes = 0;
  };
  std::vector<Part> parts;
  uint64_t free_bytes = 0;

  uint64_t total() const;
  // "dataset 440.0 MiB, … : 0.9 GiB of 139.1 GiB free"
  std::string Describe() const;
  // RESOURCE_EXHAUSTED with the numbers and how many episodes would fit.
  absl::Status CheckFits(const CollectorOptions& options, int device) const;
};
// Of an executor that starts with `algorithm`; products that a fall-back to stepped may need later
// are not in it. `dataset_there`: another executor of the process has it on the device.
MemoryPlan PlanMemory(const CollectorOptions& options, CudaAlgorithm algorithm, bool dataset_there,
                      uint64_t free_bytes);

}  // namespace vixen::kernels
