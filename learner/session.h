// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/status.h"
#include "learner/client/backoff.h"
#include "vixen/v1/config.pb.h"

namespace vixen::learner {

// The whole life of a learner process with an effective configuration: waits for an actor, makes
// the plan, gets the dataset, trains. Returns when done or stopped.
absl::Status RunLearner(const v1::LearnerConfig& config, StopFlag& stop);

}  // namespace vixen::learner
