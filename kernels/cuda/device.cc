// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device.h"

#include <cuda_runtime_api.h>

#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/cuda/status.h"

namespace vixen::kernels {

std::string CudaDevice::Describe() const {
  return absl::StrFormat("%s, sm_%d, %d SMs, %.1f GiB", name, capability(), multiprocessors,
                         static_cast<double>(memory_bytes) / (1ull << 30));
}

absl::StatusOr<std::vector<CudaDevice>> QueryCudaDevices() {
  int count = 0;
  VIXEN_CUDA_RETURN_IF_ERROR(cudaGetDeviceCount(&count));
  std::vector<CudaDevice> devices;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties;
    VIXEN_CUDA_RETURN_IF_ERROR(cudaGetDeviceProperties(&properties, i));
    char bus_id[16] = {};
    VIXEN_CUDA_RETURN_IF_ERROR(cudaDeviceGetPCIBusId(bus_id, sizeof(bus_id), i));
    devices.push_back({.index = i,
                       .name = properties.name,
                       .pci_bus_id = bus_id,
                       .major = properties.major,
                       .minor = properties.minor,
                       .multiprocessors = properties.multiProcessorCount,
                       .memory_bytes = properties.totalGlobalMem,
                       .shared_bytes_per_block = properties.sharedMemPerBlockOptin});
  }
  return devices;
}

absl::StatusOr<CudaDevice> QueryCudaDevice(int index) {
  VIXEN_ASSIGN_OR_RETURN(const std::vector<CudaDevice> devices, QueryCudaDevices());
  if (index < 0 || static_cast<size_t>(index) >= devices.size()) {
    return absl::NotFoundError(base::StrCat("gpu ", index, " is not there: this machine has ",
                                            devices.size(), ", numbered from 0"));
  }
  return devices[index];
}

}  // namespace vixen::kernels
