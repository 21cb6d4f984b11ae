// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "learner/replay/replay.h"

namespace vixen::learner {

inline constexpr size_t kBarsBatch = 1000;

// The operations of a replay that the bars need, for both devices.
class PerBars {
 public:
  virtual ~PerBars() = default;
  // The slots of so many batches, one after another; the priorities stay.
  virtual absl::Status Draw(uint64_t batches, std::vector<uint32_t>& slots) = 0;
  // kBarsBatch of each; on the GPU the slots must be ascending.
  virtual absl::Status Update(std::span<const uint32_t> slot, std::span<const float> td) = 0;
  virtual absl::StatusOr<double> Total() = 0;
  virtual absl::StatusOr<std::vector<double>> Leaves() = 0;
};

absl::StatusOr<std::unique_ptr<PerBars>> MakeCudaBars(const ReplayOptions& options,
                                                      std::span<const ReplayRow> rows);

}  // namespace vixen::learner
