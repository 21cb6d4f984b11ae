// SPDX-License-Identifier: Apache-2.0
// Where the ranks of one policy meet: c10d's store at master:port. For ranks.cc alone, as its
// header is LibTorch's.
#pragma once

#include <chrono>
#include <exception>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "absl/status/statusor.h"
#include "learner/client/backoff.h"
#include "learner/parallel/rank_options.h"

namespace vixen::learner {

using StorePtr = c10::intrusive_ptr<c10d::Store>;

// Serves the store, or tries until `deadline` to reach it. UNAVAILABLE naming the place; CANCELLED
// when `stop` is set meanwhile.
absl::StatusOr<StorePtr> OpenStore(const RankOptions& options,
                                   std::chrono::steady_clock::time_point deadline, StopFlag& stop);

// c10d's errors carry a stack.
std::string FirstLine(const std::exception& error);

}  // namespace vixen::learner
