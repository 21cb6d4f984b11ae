// SPDX-License-Identifier: Apache-2.0
// Owners of device and of pinned host memory. Move-only; allocation is explicit, once, at start.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/cuda/status.h"

namespace vixen::kernels {

struct DeviceMemory {
  static cudaError_t Take(void** pointer, size_t bytes) { return cudaMalloc(pointer, bytes); }
  static void Give(void* pointer) { cudaFree(pointer); }
  static constexpr const char* kName = "cudaMalloc";
};

struct PinnedMemory {
  static cudaError_t Take(void** pointer, size_t bytes) { return cudaMallocHost(pointer, bytes); }
  static void Give(void* pointer) { cudaFreeHost(pointer); }
  static constexpr const char* kName = "cudaMallocHost";
};

// `count` elements of trivially copyable T, uninitialised.
template <typename T, typename Memory>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) Memory::Give(data_);
  }

  // Replaces what the buffer held. RESOURCE_EXHAUSTED naming the bytes.
  absl::Status Allocate(size_t count) {
    if (data_ != nullptr) Memory::Give(std::exchange(data_, nullptr));
    size_ = 0;
    if (count == 0) return absl::OkStatus();
    void* pointer = nullptr;
    const cudaError_t error = Memory::Take(&pointer, count * sizeof(T));
    if (error != cudaSuccess) {
      (void)cudaGetLastError();  // or the next kernel's launch would answer it
      const absl::Status status = CudaStatus(error, Memory::kName);
      return absl::Status(status.code(),
                          absl::StrCat(status.message(), " for ", count * sizeof(T), " bytes"));
    }
    data_ = static_cast<T*>(pointer);
    size_ = count;
    return absl::OkStatus();
  }

  T* data() const { return data_; }
  size_t size() const { return size_; }
  size_t bytes() const { return size_ * sizeof(T); }
  bool empty() const { return size_ == 0; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

template <typename T>
using DeviceBuffer = Buffer<T, DeviceMemory>;
template <typename T>
using PinnedBuffer = Buffer<T, PinnedMemory>;

}  // namespace vixen::kernels
