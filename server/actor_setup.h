// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

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
  v1::GetInfoResponse info;  // what does not change during the run
};

// `config` is effective. The first executor is made here, so that settings that it refuses are
// refused at start; the run's make_collector hands it out first.
absl::StatusOr<ActorSetup> SetUpActor(const v1::ActorConfig& config,
                                      const kernels::CollectorFactory& make_collector);

// What the configuration asks kernels::ChooseExecutor for.
kernels::ExecutorWish ToExecutorWish(const v1::ExecutorSettings& execution);

}  // namespace vixen::server
