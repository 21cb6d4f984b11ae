// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "learner/loop/plan.h"
#include "vixen/v1/checkpoint.pb.h"

namespace vixen::learner {

// Whether this run can go on from a checkpoint: architecture, dataset, normalisation, the actor's
// rules, and the settings that gave what is stored its meaning (policy, group, consumer, replay,
// optimizer, seed) must be the same. FAILED_PRECONDITION naming `path`, what differs and both
// values. Other settings may have changed: returned as "learning_rate 0.0005 → 0.0001".
absl::StatusOr<std::vector<std::string>> CheckResume(const v1::Checkpoint& head,
                                                     const std::string& path, const Plan& plan);

}  // namespace vixen::learner
