// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "learner/client/actor_link.h"
#include "learner/client/event.h"
#include "learner/client/run_book.h"
#include "learner/loop/credit_turns.h"
#include "learner/loop/plan.h"
#include "learner/weights/weights_pusher.h"

namespace vixen::learner {

// One actor as the training thread sees it.
struct ActorState {
  size_t number = 0;
  std::string address;
  std::unique_ptr<ActorLink> link;
  std::unique_ptr<WeightsPusher> pusher;

  uint64_t stream = 0;  // live stream, 0: none
  int64_t max_credit = 0;
  int64_t outstanding = 0;        // launches granted on the live stream and not received
  uint64_t required_version = 0;  // online weights that must be live before credit is given
  uint64_t overtaken = 0;         // pushes on the live stream that were behind what was live
  bool ready = false;
};

// All actors of this learner: threads, credit. Training thread only.
class Actors {
 public:
  // Connections are made, threads not yet started.
  static absl::StatusOr<std::unique_ptr<Actors>> Create(const Plan& plan, const RunBook& book,
                                                        EventQueue& events);
  ~Actors() { Stop(std::chrono::milliseconds(0)); }

  void Start();
  std::vector<ActorState>& all() { return actors_; }
  ActorState& at(size_t actor) { return actors_[actor]; }

  int64_t outstanding() const;
  bool any_ready() const;
  // Grants up to `launches` to the ready actors (CreditTurns).
  void Grant(int64_t launches);

  // Half-closes the streams, lets them end for at most `most` while events are thrown away, cuts
  // the rest and joins all threads. Closes the event queue.
  void Stop(std::chrono::milliseconds most);

 private:
  explicit Actors(EventQueue& events) : events_(events) {}

  EventQueue& events_;
  std::vector<ActorState> actors_;
  CreditTurns turns_;
  bool stopped_ = false;
};

}  // namespace vixen::learner
