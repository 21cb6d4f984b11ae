// SPDX-License-Identifier: Apache-2.0
#include "learner/loop/actors.h"

#include <algorithm>

#include "base/status_macros.h"
#include "learner/client/channel.h"

namespace vixen::learner {

absl::StatusOr<std::unique_ptr<Actors>> Actors::Create(const Plan& plan, const RunBook& book,
                                                       EventQueue& events) {
  std::unique_ptr<Actors> actors(new Actors(events));
  for (const std::string& address : plan.config.actor()) {
    VIXEN_ASSIGN_OR_RETURN(
        std::shared_ptr<grpc::Channel> batches,
        MakeChannel(address, plan.config.tls(), plan.config.keepalive_seconds()));
    VIXEN_ASSIGN_OR_RETURN(
        std::shared_ptr<grpc::Channel> weights,
        MakeChannel(address, plan.config.tls(), plan.config.keepalive_seconds()));
    const size_t number = actors->actors_.size();
    LinkOptions link{
        .actor = number,
        .address = address,
        .policy = plan.config.policy(),
        .group = plan.config.group(),
        .consumer = plan.config.consumer(),
        .dataset_fingerprint = plan.dataset_fingerprint,
        .check = [&plan](const v1::GetInfoResponse& info) { return CheckSameWork(plan, info); }};
    PusherOptions pusher{.actor = number,
                         .address = address,
                         .policy = plan.config.policy(),
                         .scaler_fingerprint = plan.scaler_fingerprint};
    ActorState& state = actors->actors_.emplace_back();
    state.number = number;
    state.address = address;
    state.link = std::make_unique<ActorLink>(std::move(link), batches, book, events);
    state.pusher = std::make_unique<WeightsPusher>(std::move(pusher), weights, events);
  }
  return actors;
}

void Actors::Start() {
  for (ActorState& actor : actors_) {
    actor.pusher->Start();
    actor.link->Start();
  }
}

int64_t Actors::outstanding() const {
  int64_t sum = 0;
  for (const ActorState& actor : actors_) sum += actor.outstanding;
  return sum;
}

bool Actors::any_ready() const {
  return std::any_of(actors_.begin(), actors_.end(), [](const auto& actor) { return actor.ready; });
}

void Actors::Grant(int64_t launches) {
  std::vector<CreditRoom> room;
  for (const ActorState& actor : actors_) {
    room.push_back(
        {.ready = actor.ready, .outstanding = actor.outstanding, .most = actor.max_credit});
  }
  const std::vector<int64_t> grants = turns_.Share(launches, room);
  for (size_t i = 0; i < actors_.size(); ++i) {
    ActorState& actor = actors_[i];
    if (grants[i] > 0 && actor.link->SendCredit(actor.stream, grants[i])) {
      actor.outstanding += grants[i];
    }
  }
}

void Actors::Stop(std::chrono::milliseconds most) {
  if (stopped_) return;
  stopped_ = true;
  for (ActorState& actor : actors_) actor.link->HalfClose();
  const auto deadline = std::chrono::steady_clock::now() + most;
  for (ActorState& actor : actors_) {
    while (!actor.link->WaitEnded(std::chrono::milliseconds(1)) &&
           std::chrono::steady_clock::now() < deadline) {
      events_.PopFor(std::chrono::milliseconds(20));
    }
  }
  events_.Close();
  for (ActorState& actor : actors_) {
    actor.link->Stop();
    actor.pusher->Stop();
  }
}

}  // namespace vixen::learner
