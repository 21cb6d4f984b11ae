// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vixen/v1/config.pb.h"

namespace vixen::config {

// Sets what the preset says and the settings do not say themselves. `seed` says nothing: it is the
// defaults, the published design's numbers.
void ApplyPreset(v1::EnvironmentSettings& settings);

}  // namespace vixen::config
