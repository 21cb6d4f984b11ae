// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "market/dataset.h"
#include "server/collector/policy.h"
#include "server/collector/run.h"
#include "server/metrics/actor_metrics.h"
#include "server/service/task_thread.h"
#include "server/weights/weights_intake.h"
#include "vixen/v1/actor.pb.h"

namespace vixen::server {

class CollectStreams;
class DatasetFile;

// What the services share. Everything in it is thread-safe and outlives the gRPC server.
struct ActorState {
  const Run& run;
  ActorMetrics& metrics;
  Policies& policies;
  WeightsIntake& intake;
  CollectStreams& streams;
  TaskThread& staging;   // weights
  TaskThread& encoding;  // batches in encodings that copy
  const DatasetFile& dataset_file;
  std::function<void()> notify_collector;
  std::function<void()> request_drain;
  v1::GetInfoResponse info;  // what does not change during the run
  std::chrono::steady_clock::time_point started;
  std::atomic<bool> draining = false;
  bool forget_finish = false;  // a fault for tests: Collect calls are never finished
};

}  // namespace vixen::server
