// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/batch/batch.h"

namespace vixen::kernels {

// The first place where a recorded launch is not what was computed.
struct LaunchFault {
  uint64_t slot = 0;
  uint64_t step = 0;
  std::string column;  // "portfolio[1]"; or a statistic, without slot and step
  std::string recorded;
  std::string computed;

  // "row 17 (slot 1, step 1), column reward: recorded 0.5, computed 0.25".
  std::string Describe(uint32_t steps) const;
};

// Compares bytes, by row and then by column. Terms only where both have them.
std::optional<LaunchFault> FirstDifference(const Batch& recorded, const Batch& computed);

// The value as text that tells different bits apart.
std::string ValueText(float value);

}  // namespace vixen::kernels
