// SPDX-License-Identifier: Apache-2.0
// Owners of a stream, an event and an executable graph. Move-only.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "absl/status/status.h"
#include "kernels/cuda/status.h"

namespace vixen::kernels {

template <typename Handle, cudaError_t (*Destroy)(Handle)>
class CudaHandle {
 public:
  CudaHandle() = default;
  explicit CudaHandle(Handle handle) : handle_(handle) {}
  CudaHandle(CudaHandle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  CudaHandle& operator=(CudaHandle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~CudaHandle() {
    if (handle_ != nullptr) Destroy(handle_);
  }

  Handle get() const { return handle_; }
  // For the creating call; the object must be empty.
  Handle* receive() { return &handle_; }

 private:
  Handle handle_ = nullptr;
};

using Stream = CudaHandle<cudaStream_t, cudaStreamDestroy>;
using Event = CudaHandle<cudaEvent_t, cudaEventDestroy>;
using GraphExec = CudaHandle<cudaGraphExec_t, cudaGraphExecDestroy>;

// Does not wait for the default stream, nor it for this one.
inline absl::Status CreateStream(Stream& stream) {
  VIXEN_CUDA_RETURN_IF_ERROR(cudaStreamCreateWithFlags(stream.receive(), cudaStreamNonBlocking));
  return absl::OkStatus();
}

// Waiting for it sleeps instead of spinning; `timed` keeps time stamps.
inline absl::Status CreateEvent(Event& event, bool timed = false) {
  const unsigned flags = timed ? cudaEventDefault : cudaEventBlockingSync | cudaEventDisableTiming;
  VIXEN_CUDA_RETURN_IF_ERROR(cudaEventCreateWithFlags(event.receive(), flags));
  return absl::OkStatus();
}

}  // namespace vixen::kernels
