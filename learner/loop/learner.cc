// SPDX-License-Identifier: Apache-2.0
#include "learner/loop/learner.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/exit_code.h"
#include "base/status_macros.h"
#include "learner/client/sheet_log.h"

namespace vixen::learner {
namespace {

constexpr int kUpdatesBetweenEvents = 4;  // one by one; launches of several: one
// The streams' part of the grace period: an actor ends a half-closed one after what it reserved.
constexpr std::chrono::milliseconds kStreamEnd{3000};

}  // namespace

Learner::~Learner() {
  if (updater_ == nullptr || updater_->Held().ok()) return;
  checkpoints_.reset();  // what is being written needs no GPU
  // Giving the GPU's memory back would wait for what holds it, and so may an orderly end.
  spdlog::critical("leaving at once, the GPU is held: {}", updater_->Held().ToString());
  LogSheets(book_);
  spdlog::default_logger()->flush();
  base::LeaveNow("vixen-learner", updater_->Held());
}

absl::Status Learner::Run(StopFlag& stop) {
  started_ = reported_ = progressed_ = saved_ = checkpointed_ = Clock::now();
  actors_->Start();
  metrics_.health().Started();
  absl::Status status = Loop(stop);
  // Nobody hears it otherwise: the destructor ends the process.
  if (!status.ok() && !updater_->Held().ok()) spdlog::error("{}", status.ToString());
  metrics_.health().Draining();
  metrics_.draining.Set(1);
  if (status.ok() && stop.stopped()) spdlog::info("stopping: closing streams, writing weights");
  // While the streams are open: the actors hear of it.
  absl::Status kept = status.ok() ? FinishCheckpoints() : absl::OkStatus();
  actors_->Stop(kStreamEnd);
  absl::Status reported = Report(/*last=*/true);
  absl::Status saved = Save();
  if (!status.ok()) return status;
  if (!kept.ok()) return kept;
  if (!reported.ok()) return reported;
  return saved;
}

absl::Status Learner::TakeTurn(const StopFlag& stop, bool may_update, bool& ended) {
  if (ranks_ == nullptr && (stop.stopped() || Done())) {
    ended = true;
    return absl::OkStatus();
  }
  const absl::Status taken = stored_.has_value() ? TakeStored(stop) : TakeEvent(may_update);
  return ranks_ == nullptr ? taken : AgreeOnTurn(taken, stop, ended);
}

absl::Status Learner::Loop(StopFlag& stop) {
  Clock::time_point last = Clock::now();
  const bool one_launch = ranks_ != nullptr || updater_->updates_at_once() > 1;
  const int updates_a_turn = one_launch ? 1 : kUpdatesBetweenEvents;
  while (true) {
    metrics_.health().Beat();
    const bool may_update = MayUpdate();
    bool ended = false;
    absl::Status status = TakeTurn(stop, may_update, ended);
    if (ended) return status;
    const Clock::time_point now = Clock::now();
    CountWaits(std::chrono::duration<double>(now - last).count(), !may_update);
    last = now;

    GrantCredit();
    for (int i = 0; i < updates_a_turn && status.ok() && MayUpdate(); ++i) {
      if (ranks_ == nullptr && Done()) break;  // ranks end their loops together
      status = UpdateSome();
    }
    if (!status.ok()) {
      VIXEN_RETURN_IF_ERROR(Recover(status));
      continue;
    }
    const uint64_t every = plan_.config.push().push_every();
    const bool due =
        every > 0 ? updates_ >= updates_at_push_ + every : batch_since_push_ && !MayUpdate();
    if (due && !stored_.has_value()) VIXEN_RETURN_IF_ERROR(PushToEveryone());
    VIXEN_RETURN_IF_ERROR(KeepCheckpoints());
    VIXEN_RETURN_IF_ERROR(Report(/*last=*/false));
  }
}

bool Learner::AllInserted() const {
  const uint64_t most = plan_.config.stop().max_transitions();
  return most > 0 && Transitions() >= most;
}

bool Learner::Done() const {
  if (stored_.has_value() && stored_->AtEnd() && OpenWindows() == 0 && !MayUpdate()) return true;
  const v1::StopSettings& stop = plan_.config.stop();
  if (stop.max_updates() > 0 && updates_ >= stop.max_updates()) return true;
  if (AllInserted() && !MayUpdate()) return true;
  return stop.max_seconds() > 0 &&
         Clock::now() - started_ >= std::chrono::duration<double>(stop.max_seconds());
}

}  // namespace vixen::learner
