// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "learner/device/rank_exchange.h"

namespace vixen::learner {

// This GPU's place among those that add up their gradients, over NCCL, which is opened at run time.
// One thread.
class NcclGroup {
 public:
  // Collective: waits for the others, for at most place.join_timeout; UNAVAILABLE then, and where
  // the GPUs cannot reach each other. DEADLINE_EXCEEDED where then, for kLongestEnd more, the first
  // sum does not end: it holds the GPU. `gpu` becomes this thread's.
  static absl::StatusOr<std::unique_ptr<NcclGroup>> Join(const NcclPlace& place, int gpu);
  // As Abort. The others must not be waiting for this one in a sum.
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  const NcclPlace& place() const;

  // Enqueues, and may be captured: to[i] = Σ over all ranks of from[i], the same bits at each.
  absl::Status Sum(const float* from, float* to, size_t count, cudaStream_t stream) const;
  // UNAVAILABLE when a connection broke.
  absl::Status Check() const;

  // Sums that wait for the others end, with anything as their result; this object is of no more
  // use. Returns at once; the rest of it waits until the graphs that hold a sum are destroyed.
  void Abort();

 private:
  struct State;
  explicit NcclGroup(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace vixen::learner
