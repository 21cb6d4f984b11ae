// SPDX-License-Identifier: Apache-2.0
// Equal blocks of pinned host memory, reused: pinning memory takes milliseconds and may wait for
// the device, so it must not happen at every launch.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "base/status_macros.h"
#include "kernels/cuda/buffer.h"

namespace vixen::kernels {

// Thread-safe. Blocks may outlive the pool.
class PinnedPool {
 public:
  explicit PinnedPool(size_t block_bytes) : state_(std::make_shared<State>()) {
    state_->block_bytes = block_bytes;
  }

  // Pins `count` blocks ahead.
  absl::Status Fill(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      PinnedBuffer<std::byte> block;
      VIXEN_RETURN_IF_ERROR(block.Allocate(state_->block_bytes));
      std::lock_guard lock(state_->mutex);
      state_->free.push_back(std::move(block));
    }
    return absl::OkStatus();
  }

  // A block, pinned now if none is free; null when the system refuses to pin more.
  std::shared_ptr<std::byte[]> Take() {
    auto lent = std::make_shared<Lent>();
    lent->block = state_->TakeFree();
    if (lent->block.empty() && !lent->block.Allocate(state_->block_bytes).ok()) return nullptr;
    lent->state = state_;
    return {lent, lent->block.data()};
  }

 private:
  // More than a busy actor has free at once; the rest goes back to the system.
  static constexpr size_t kMostFree = 16;

  struct State {
    size_t block_bytes = 0;
    std::mutex mutex;
    std::vector<PinnedBuffer<std::byte>> free;

    PinnedBuffer<std::byte> TakeFree() {
      std::lock_guard lock(mutex);
      if (free.empty()) return {};
      PinnedBuffer<std::byte> block = std::move(free.back());
      free.pop_back();
      return block;
    }
    void Give(PinnedBuffer<std::byte> block) {
      std::lock_guard lock(mutex);
      if (free.size() < kMostFree) free.push_back(std::move(block));
    }
  };

  // Goes back when the last pointer into it goes.
  struct Lent {
    std::shared_ptr<State> state;
    PinnedBuffer<std::byte> block;
    ~Lent() {
      if (state != nullptr) state->Give(std::move(block));
    }
  };

  std::shared_ptr<State> state_;
};

}  // namespace vixen::kernels
