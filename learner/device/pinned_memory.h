// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory_resource>

namespace vixen::learner {

// Pinned host memory for containers, which the GPU copies from by itself. Where the system refuses
// to pin more, plain memory. One thread. Allocating takes milliseconds: reserve once.
class PinnedMemoryResource : public std::pmr::memory_resource {
 public:
  // Whether all of these bytes are pinned and from here.
  bool Holds(const void* begin, size_t bytes) const;

 private:
  void* do_allocate(size_t bytes, size_t alignment) override;
  void do_deallocate(void* pointer, size_t bytes, size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::map<const std::byte*, size_t> pinned_;  // begin → bytes
};

}  // namespace vixen::learner
