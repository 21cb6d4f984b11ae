// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/executors/choose_executor.h"
#include "market/dataset.h"
#include "server/collector/run.h"
#include "server/service/dataset_file.h"
#include "vixen/v1/actor.pb.h"
#include "vixen/v1/config.pb.h"

namespace vixen::server {

// What an actor needs before it can serve.
struct ActorSetup {
  std::shared_ptr<const market::Dataset> dataset;
  DatasetFile dataset_file;
  Run run;
  kernels::CollectorInfo executor;
  v1::GetInfoResponse info;                          // what does not change during the run
  std::chrono::duration<double> expected_launch{0};  // by the trial launch; 0: there was none
};

// `config` is effective. The first executor is made here, so that settings that it refuses are
// refused at start; the run's make_collector hands it out first. With `warm_up` another one before
// it makes a launch of a few steps with weights of zero: a device that cannot launch is found out
// here, and the first real launch finds it warm. `phase` hears what is being done.
absl::StatusOr<ActorSetup> SetUpActor(const v1::ActorConfig& config,
                                      const kernels::CollectorFactory& make_collector, bool warm_up,
                                      const std::function<void(std::string)>& phase);

// What the configuration asks kernels::ChooseExecutor for.
kernels::ExecutorWish ToExecutorWish(const v1::ExecutorSettings& execution);

}  // namespace vixen::server
