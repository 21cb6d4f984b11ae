// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "absl/status/status.h"
#include "base/bounded_queue.h"
#include "proto/codec/batch_decoder.h"
#include "vixen/v1/actor.pb.h"

namespace vixen::learner {

// What the client's threads tell the training thread. `stream` counts an actor's Collect streams:
// what belonged to an earlier one (credit above all) died with it.
struct StreamOpened {
  size_t actor = 0;
  uint64_t stream = 0;
  v1::GetInfoResponse info;  // read just before
  v1::Opened opened;
};
struct BatchArrived {
  size_t actor = 0;
  uint64_t stream = 0;
  codec::DecodedBatch batch;
};
struct StreamEnded {
  size_t actor = 0;
  uint64_t stream = 0;
  absl::Status status;
};
// Everything that was handed to an actor's pusher is live there.
struct WeightsLive {
  size_t actor = 0;
  uint64_t online_version = 0;
};
// The actor holds newer versions than ours: they must be chosen anew above these.
struct WeightsBehind {
  size_t actor = 0;
  v1::PolicyInfo live;
};
// No use trying again.
struct ClientFailed {
  absl::Status status;
};

using Event =
    std::variant<StreamOpened, BatchArrived, StreamEnded, WeightsLive, WeightsBehind, ClientFailed>;
using EventQueue = base::BoundedQueue<Event>;

}  // namespace vixen::learner
