// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace vixen::base {

// A fixed set of threads for loops over independent pieces. `threads` counts the caller, so 1 means
// no extra thread. Pieces are handed out dynamically: results must not depend on which thread ran
// which piece. One loop at a time per pool (callers wait for each other).
class WorkerPool {
 public:
  explicit WorkerPool(int threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int threads() const;

  // Calls body(piece, thread) for piece in [0, pieces), thread in [0, threads()); returns when all
  // are done. `body` must not throw.
  void ParallelFor(int64_t pieces, const std::function<void(int64_t piece, int thread)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vixen::base
