// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "kernels/verify/golden_case.h"

namespace vixen::tool {

// Replays every golden case in `folder` (*.safetensors, by name) on collectors of `factory` and
// writes a line a case. INTERNAL when a case fails or cannot be read, NOT_FOUND when there is no
// case.
absl::Status VerifyFolder(const std::string& folder, kernels::Precision precision,
                          const kernels::CollectorFactory& factory, std::ostream& out);

}  // namespace vixen::tool
