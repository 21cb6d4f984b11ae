// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "server/actor_setup.h"
#include "server/collector/collector_loop.h"
#include "server/collector/policy.h"
#include "server/metrics/actor_metrics.h"
#include "server/service/actor_state.h"
#include "server/service/collect_streams.h"
#include "server/service/task_thread.h"
#include "server/weights/weights_intake.h"

namespace vixen::server {

// What an actor is made of once dataset and executor are there. Outlives the gRPC server.
struct ActorCore {
  ActorCore(ActorSetup actor_setup, ActorMetrics& metrics, bool forget_finish,
            std::function<void(absl::Status)> on_fatal, std::function<void()> request_drain);

  const ActorSetup setup;
  Policies policies;
  WeightsIntake intake;
  CollectStreams streams;
  TaskThread staging{256};
  TaskThread encoding{256};
  CollectorLoop loop;
  ActorState state;
};

}  // namespace vixen::server
