// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

namespace vixen::learner {

// Which weights a row was made with and when it came in, by its generation: kept a batch, not a
// row. One thread.
class RowAges {
 public:
  using Clock = std::chrono::steady_clock;
  struct Origin {
    uint64_t version = 0;  // of the online weights
    Clock::time_point inserted;
  };

  // Rows [first, first + rows) of generations, the next after those before.
  void Inserted(uint64_t first, uint64_t rows, Origin origin);
  // Forgets what only generations below `oldest` need.
  void Forget(uint64_t oldest);
  // Nullopt of a row that came in before this object did (from a checkpoint). O(log batches).
  std::optional<Origin> Of(uint64_t generation) const;

 private:
  struct Batch {
    uint64_t first, end;
    Origin origin;
  };
  std::deque<Batch> batches_;
};

}  // namespace vixen::learner
