// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace vixen::base {

// Buffers of one size that are used again: memory that was written once needs no page faults and no
// zeroing the second time. Buffers may outlive the pool. Thread-safe.
class BufferPool {
 public:
  // Keeps at most `most_kept` unused buffers; further ones are freed when they come back.
  BufferPool(size_t bytes, size_t most_kept)
      : shared_(std::make_shared<Shared>(bytes, most_kept)) {}

  size_t bytes() const { return shared_->bytes; }

  // Zero when new; else what its last user left in it. It comes back when the last owner lets go.
  std::shared_ptr<std::byte[]> Take() {
    std::unique_ptr<std::byte[]> buffer;
    {
      std::lock_guard lock(shared_->mutex);
      if (!shared_->unused.empty()) {
        buffer = std::move(shared_->unused.back());
        shared_->unused.pop_back();
      }
    }
    if (!buffer) buffer = std::make_unique<std::byte[]>(shared_->bytes);
    return {buffer.release(), [shared = shared_](std::byte* bytes) {
              std::unique_ptr<std::byte[]> returned(bytes);
              std::lock_guard lock(shared->mutex);
              if (shared->unused.size() < shared->most_kept) {
                shared->unused.push_back(std::move(returned));
              }
            }};
  }

 private:
  struct Shared {
    Shared(size_t size, size_t most) : bytes(size), most_kept(most) {}
    const size_t bytes;
    const size_t most_kept;
    std::mutex mutex;
    std::vector<std::unique_ptr<std::byte[]>> unused;
  };
  std::shared_ptr<Shared> shared_;
};

}  // namespace vixen::base
