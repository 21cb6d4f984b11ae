// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace vixen::learner {

// Where tensors live: `requested` is "auto", "cpu" or "cuda"; the answer is "cpu" or "cuda". One
// binary serves both: libtorch_cuda.so is opened here, on first use, and registers itself where it
// and a GPU are present. "auto" falls back to the CPU; "cuda" without one is FAILED_PRECONDITION
// with the cause. `threads` sets LibTorch's CPU threads. Call once, before any tensor exists.
absl::StatusOr<std::string> SetUpDevice(const std::string& requested, int threads);

}  // namespace vixen::learner
