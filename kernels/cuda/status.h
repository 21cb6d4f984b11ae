// SPDX-License-Identifier: Apache-2.0
// CUDA results as absl::Status: INTERNAL (RESOURCE_EXHAUSTED for memory, UNAVAILABLE for
// a missing driver or device, DATA_LOSS when the device is lost) naming the call and the runtime's
// words.
#pragma once

#include <cuda_runtime_api.h>

#include "absl/status/status.h"

namespace vixen::kernels {

absl::Status CudaStatus(cudaError_t error, const char* call);

}  // namespace vixen::kernels

#define VIXEN_CUDA_RETURN_IF_ERROR(call)                             \
  do {                                                               \
    const cudaError_t vixen_cuda_error_ = (call);                    \
    if (vixen_cuda_error_ != cudaSuccess) {                          \
      return ::vixen::kernels::CudaStatus(vixen_cuda_error_, #call); \
    }                                                                \
  } while (false)
