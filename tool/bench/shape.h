// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace vixen::tool {

// N episodes of L steps.
struct Shape {
  uint32_t episodes = 0;
  uint32_t steps = 0;
};

// "128x500". A usage error naming the text otherwise.
absl::StatusOr<Shape> ParseShape(const std::string& text);

}  // namespace vixen::tool
