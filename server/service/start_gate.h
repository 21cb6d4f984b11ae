// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>

#include "absl/status/status.h"

namespace vixen::server {

struct ActorState;

// What stands between the listeners, which are open from the first moment, and the state that the
// services need, which comes when dataset and executor are there. Thread-safe.
class StartGate {
 public:
  // What is being done now, for whoever asks meanwhile: "loading the dataset bars.safetensors".
  void Enter(std::string phase);
  // `state` outlives the gRPC server. From here on the services answer.
  void Open(ActorState* state) { state_.store(state, std::memory_order_release); }

  // Null while the actor starts.
  ActorState* state() const { return state_.load(std::memory_order_acquire); }
  // "starting for 12.3 s: loading the dataset bars.safetensors", or "started after 3.1 s".
  std::string Text() const;
  // UNAVAILABLE with that text: the answer to every call while the actor starts.
  absl::Status NotYet() const;

 private:
  using Clock = std::chrono::steady_clock;

  const Clock::time_point began_ = Clock::now();
  std::atomic<ActorState*> state_ = nullptr;
  mutable std::mutex mutex_;
  std::string phase_ = "opening the listeners";
  Clock::time_point entered_ = began_;
};

}  // namespace vixen::server
