// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vixen/v1/config.pb.h"

namespace vixen::config {

// Sets what the preset says and the settings do not say themselves. `seed` says nothing: it is the
// defaults, the published design's numbers.
void ApplyPreset(v1::EnvironmentSettings& settings);
// The same of a learner: `recommended` is what did best on the test-bed (docs/learning.md).
void ApplyPreset(v1::LearnerConfig& config);

}  // namespace vixen::config
