// SPDX-License-Identifier: Apache-2.0
// How a Collect call ends: by its own fault, its client's, a drain, or for want of progress.
#include <spdlog/spdlog.h>

#include <utility>

#include "server/service/collect_messages.h"
#include "server/service/collect_stream.h"
#include "server/service/collect_streams.h"
#include "server/service/status.h"

namespace vixen::server {

// Left before the client hears of the end: it may come back under the same name at once.
void CollectStream::Leave(grpc::Status status) {
  Detach();
  End(std::move(status));
}

void CollectStream::Fail(const absl::Status& status) {
  {
    std::lock_guard lock(mutex_);
    // What is said to a detached stream is no fault: it ends as it was going to.
    if (leaving_) return;
  }
  spdlog::warn("collect: a stream ends with {}{}", status.ToString(), who());
  Leave(ToGrpc(status));
}

void CollectStream::OnCancel() { Leave(grpc::Status::CANCELLED); }

void CollectStream::Detach() {
  const Session session = this->session();
  if (session.id != 0) session.policy->delivery.Close(session.id);
  state_.streams.Leave(this);
}

void CollectStream::AtDone() {
  Detach();
  {
    std::lock_guard lock(mutex_);
    done_ = true;
    const grpc::StatusCode code = ending() ? ending()->error_code() : grpc::StatusCode::CANCELLED;
    state_.metrics.streams_closed[static_cast<size_t>(code) % kStatusCodes]->Increment();
  }
  // Last: who drains goes on when no stream is left.
  state_.streams.Remove(this);
}

void CollectStream::Drain() {
  bool opened;
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(drain_, true)) return;
    opened = open_;
    if (opened) {
      messages_.push_back(
          DrainingNotice(state_.run.run_id, policy_->name, policy_->delivery.next_sequence()));
    }
  }
  if (!opened) return Leave(ToGrpc(DrainingStatus()));
  Pump();
}

void CollectStream::Abort(const absl::Status& status) {
  std::lock_guard lock(mutex_);
  EndNowLocked(ToGrpc(status));
  if (!done_) context_->TryCancel();
}

void CollectStream::CheckProgress(Clock::time_point now, Clock::duration deadline) {
  bool stuck;
  {
    std::lock_guard lock(mutex_);
    if (evicted_at_) {
      if (now - *evicted_at_ > deadline && !done_) context_->TryCancel();
      return;
    }
    stuck = writing_since() && now - *writing_since() > deadline;
    const bool silent = !open_ && !ended() && now - began_ > deadline;
    if (!stuck && !silent && !finished()) return;
    evicted_at_ = now;
    // Ended already: from now on it is only watched whether the peer takes the status.
    if (finished()) return;
    leaving_ = true;
  }
  state_.metrics.streams_evicted->Increment();
  spdlog::warn("collect: a stream made no progress and is evicted{}", who());
  Detach();
  std::lock_guard lock(mutex_);
  EndNowLocked(ToGrpc(absl::DeadlineExceededError(
      stuck ? "the consumer took nothing for progress_deadline_seconds"
            : "the consumer sent no `open` for progress_deadline_seconds")));
}

}  // namespace vixen::server
