// SPDX-License-Identifier: Apache-2.0
// What the machine's GPUs are.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vixen::kernels {

struct CudaDevice {
  int index = 0;
  std::string name;        // "NVIDIA H200"
  std::string pci_bus_id;  // "0000:3B:00.0", the name that other tools know it by
  int major = 0;           // compute capability
  int minor = 0;
  int multiprocessors = 0;
  size_t memory_bytes = 0;
  size_t shared_bytes_per_block = 0;  // the most that a block may opt in to

  int capability() const { return 10 * major + minor; }
  // "NVIDIA H200, sm_90, 132 SMs, 139.8 GiB"
  std::string Describe() const;
};

// UNAVAILABLE when there is no driver or no device, naming which.
absl::StatusOr<std::vector<CudaDevice>> QueryCudaDevices();
// NOT_FOUND naming the index and how many there are.
absl::StatusOr<CudaDevice> QueryCudaDevice(int index);

}  // namespace vixen::kernels
