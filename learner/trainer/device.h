// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace vixen::learner {

// Where this process computes.
struct Devices {
  std::string torch = "cpu";  // LibTorch's tensors: "cpu" or "cuda"
  std::optional<int> gpu;     // of the replay and the update graph; none: both on the host

  std::string name() const { return gpu.has_value() ? "cuda" : torch; }
};

// `requested` is "auto", "cpu" or "cuda". A build with CUDA takes gpu `local` (modulo those there)
// for replay and updates. LibTorch takes a GPU where libtorch_cuda.so can be opened, here, on first
// use; one binary serves both. "auto" falls back to the CPU; "cuda" without a device for either is
// FAILED_PRECONDITION with the cause. `threads` sets LibTorch's CPU threads. Call once, before any
// tensor exists.
absl::StatusOr<Devices> SetUpDevices(const std::string& requested, int local, int threads);

}  // namespace vixen::learner
