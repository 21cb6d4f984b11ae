// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "learner/device/network_layout.h"

namespace vixen::learner {

// Whether a block of the passes fits into the shared memory that `device` gives one.
// FAILED_PRECONDITION with both numbers, and the widest layer that would, where the smallest does
// not.
absl::Status CheckSharedMemory(const DeviceNetwork& network, DevicePrecision precision,
                               size_t shared_bytes, const std::string& device);

}  // namespace vixen::learner
