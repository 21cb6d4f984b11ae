// SPDX-License-Identifier: Apache-2.0
// Where `vixen collect` takes its batches from.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "proto/codec/recorded_batch.h"
#include "tool/executor_flags.h"
#include "vixen/v1/config.pb.h"

namespace vixen::tool {

// Receives each batch once, in order; an error ends the collection.
using BatchSink = std::function<absl::Status(const codec::RecordedBatch&)>;

struct ActorSource {
  std::string address;
  std::string policy = "default";
  v1::TlsSettings tls;
  std::string weights_out;  // folder for the weights that the batches name; empty: not kept
};

// Takes `launches` batches as a consumer group of its own, acknowledges each after `sink` had it
// and ends the stream in order. Errors are the actor's, with its address.
absl::Status CollectFromActor(const ActorSource& source, uint64_t launches, const BatchSink& sink);

struct LocalSource {
  std::string data;
  std::string weights;
  v1::EnvironmentSettings environment;  // effective
  float epsilon = 0;
  uint64_t seed = 0;  // the run seed used, as it is
  ExecutorFlags executor;
};

// Runs `launches` launches of an executor in this process.
absl::Status CollectLocally(const LocalSource& source, uint64_t launches, const BatchSink& sink);

}  // namespace vixen::tool
