// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "learner/trainer/trainer.h"
#include "learner/trainer/updater.h"

namespace vixen::learner {

// Replay on the host, trainer on the device that `trainer` names; one update a call. `features`
// [T, F] must outlive it. Errors of Trainer::Create.
absl::StatusOr<std::unique_ptr<Updater>> MakeHostUpdater(const ReplayOptions& replay,
                                                         const TrainerOptions& trainer,
                                                         std::span<const float> features,
                                                         const kernels::Parameters& online,
                                                         const kernels::Parameters& target);

}  // namespace vixen::learner
