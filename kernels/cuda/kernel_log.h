// SPDX-License-Identifier: Apache-2.0
// Which kernels a launch is made of and what they take of an SM, for the laboratory: while a log is
// installed on the calling thread, every launch that asks for shared memory
// (AllowSharedMemory) notes its kernel there.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <vector>

namespace vixen::kernels {

struct KernelUse {
  std::string name;
  int registers = 0;         // a thread
  size_t shared_bytes = 0;   // a block, static and dynamic
  size_t spilled_bytes = 0;  // local memory a thread
};

class KernelLog {
 public:
  KernelLog() { current_ = this; }
  ~KernelLog() { current_ = nullptr; }
  KernelLog(const KernelLog&) = delete;
  KernelLog& operator=(const KernelLog&) = delete;

  const std::vector<KernelUse>& uses() const { return uses_; }

  template <typename Kernel>
  static void Note(const char* name, Kernel* kernel, size_t dynamic_shared) {
    if (current_ == nullptr) return;
    cudaFuncAttributes attributes;
    if (cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)) != cudaSuccess) {
      return;
    }
    current_->uses_.push_back({name, attributes.numRegs,
                               attributes.sharedSizeBytes + dynamic_shared,
                               attributes.localSizeBytes});
  }

 private:
  static inline thread_local KernelLog* current_ = nullptr;
  std::vector<KernelUse> uses_;
};

// Before a launch with more shared memory than a kernel has by itself.
template <typename Kernel>
cudaError_t AllowSharedMemory(const char* name, Kernel* kernel, int bytes) {
  const cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error == cudaSuccess) KernelLog::Note(name, kernel, static_cast<size_t>(bytes));
  return error;
}

// The same where several such blocks are to share an SM: it gives as much as it can to shared
// memory.
template <typename Kernel>
cudaError_t AllowSharedBlocks(const char* name, Kernel* kernel, int bytes) {
  const cudaError_t error = cudaFuncSetAttribute(
      kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
  return error != cudaSuccess ? error : AllowSharedMemory(name, kernel, bytes);
}

}  // namespace vixen::kernels
