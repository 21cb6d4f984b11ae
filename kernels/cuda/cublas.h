// SPDX-License-Identifier: Apache-2.0
// cuBLAS, opened at run time: only the stepped algorithm needs its 600 MB, so an image of the actor
// may do without, and a CUDA build starts on machines that have no CUDA at all.
#pragma once

#include <cublas_v2.h>

#include "absl/status/statusor.h"

namespace vixen::kernels {

struct Cublas {
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasDestroy_v2) destroy = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&cublasSetMathMode) set_math_mode = nullptr;
  // cublasGemmEx, which the header overloads for C++.
  cublasStatus_t (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                         const void*, const void*, cudaDataType, int, const void*, cudaDataType,
                         int, const void*, void*, cudaDataType, int, cublasComputeType_t,
                         cublasGemmAlgo_t) = nullptr;
  decltype(&cublasGetStatusString) status_text = nullptr;
};

// Loaded once a process. UNAVAILABLE naming the library, or the function that it lacks.
absl::StatusOr<const Cublas*> LoadCublas();

// INTERNAL naming the call and the library's words.
absl::Status CublasStatus(cublasStatus_t status, const char* call);

}  // namespace vixen::kernels

#define VIXEN_CUBLAS_RETURN_IF_ERROR(call)                                \
  do {                                                                    \
    const cublasStatus_t vixen_cublas_status_ = (call);                   \
    if (vixen_cublas_status_ != CUBLAS_STATUS_SUCCESS) {                  \
      return ::vixen::kernels::CublasStatus(vixen_cublas_status_, #call); \
    }                                                                     \
  } while (false)
