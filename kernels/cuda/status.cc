// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/status.h"

#include <string>
#include <string_view>

#include "base/str_cat.h"

namespace vixen::kernels {
namespace {

// "cudaMalloc" of "cudaMalloc(&pointer, bytes)".
std::string_view FunctionOf(std::string_view call) { return call.substr(0, call.find('(')); }

// After these the context is lost: only a new process gets the device back.
bool IsSticky(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
      return true;
    default:
      return false;
  }
}

}  // namespace

absl::Status CudaStatus(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return absl::OkStatus();
  const std::string message =
      base::StrCat(std::string(FunctionOf(call)), ": ", cudaGetErrorName(error), " (",
                   cudaGetErrorString(error), ")");
  switch (error) {
    case cudaErrorMemoryAllocation:
      return absl::ResourceExhaustedError(message);
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
      return absl::UnavailableError(message);
    case cudaErrorInvalidDevice:
      return absl::NotFoundError(message);
    default:
      return IsSticky(error) ? absl::DataLossError(message) : absl::InternalError(message);
  }
}

}  // namespace vixen::kernels
