// SPDX-License-Identifier: Apache-2.0
#include "learner/device/pinned_memory.h"

#include <cuda_runtime_api.h>

#include <iterator>

namespace vixen::learner {

bool PinnedMemoryResource::Holds(const void* begin, size_t bytes) const {
  const auto* const first = static_cast<const std::byte*>(begin);
  const auto after = pinned_.upper_bound(first);
  if (after == pinned_.begin()) return false;
  const auto& [block, size] = *std::prev(after);
  return first + bytes <= block + size;
}

void* PinnedMemoryResource::do_allocate(size_t bytes, size_t alignment) {
  void* pointer = nullptr;
  if (cudaMallocHost(&pointer, bytes) == cudaSuccess) {
    pinned_[static_cast<const std::byte*>(pointer)] = bytes;
    return pointer;
  }
  (void)cudaGetLastError();  // or the next kernel's launch would answer it
  return std::pmr::new_delete_resource()->allocate(bytes, alignment);
}

void PinnedMemoryResource::do_deallocate(void* pointer, size_t bytes, size_t alignment) {
  if (pinned_.erase(static_cast<const std::byte*>(pointer)) > 0) {
    cudaFreeHost(pointer);
  } else {
    std::pmr::new_delete_resource()->deallocate(pointer, bytes, alignment);
  }
}

}  // namespace vixen::learner
