// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace vixen::server {

// What every streaming call needs, once: one write under way at most, exactly one Finish, and an
// owner that lets go when gRPC is done with the reactor. `Reactor` is one of gRPC's server
// reactors; a call adds its reads (OnReadDone) and says what to write next. gRPC's reactions of a
// stream never run after OnDone; everyone else (a batch is ready, the watch over frozen peers)
// holds a weak_ptr.
template <typename Reactor>
class StreamMachine : public Reactor {
 public:
  using Clock = std::chrono::steady_clock;

  // From here to OnDone the stream keeps itself alive.
  void Keep(std::shared_ptr<StreamMachine> self) {
    std::lock_guard lock(mutex_);
    self_ = std::move(self);
  }

  void OnDone() final {
    AtDone();
    std::shared_ptr<StreamMachine> self;
    {
      std::lock_guard lock(mutex_);
      self = std::move(self_);
    }
  }

  void OnCancel() override { End(grpc::Status::CANCELLED); }

  // Ends the call: at once, or when the write under way is done. The first ending counts.
  void End(grpc::Status status) {
    std::lock_guard lock(mutex_);
    EndLocked(std::move(status));
  }

 protected:
  // Called once, when nothing more will happen on this stream; without the lock.
  virtual void AtDone() {}

  void EndLocked(grpc::Status status) {
    if (!ending_) ending_ = std::move(status);
    if (!writing_since_) FinishLocked();
  }
  // Ends the call behind a write that does not end, because the peer takes nothing.
  void EndNowLocked(grpc::Status status) {
    if (!ending_) ending_ = std::move(status);
    FinishLocked();
  }
  const std::optional<grpc::Status>& ending() const { return ending_; }
  bool ended() const { return ending_.has_value(); }
  bool finished() const { return finished_; }

  // `message` must live until the write is done. Only while nothing is under way and nothing ended.
  template <typename Message>
  void WriteLocked(const Message* message) {
    writing_since_ = Clock::now();
    this->StartWrite(message);
  }
  // First thing in OnWriteDone. True when the next write may start.
  bool WriteDoneLocked(bool ok) {
    writing_since_.reset();
    if (!ok && !ending_) ending_ = grpc::Status::CANCELLED;
    if (ending_) FinishLocked();
    return !ending_;
  }
  bool MayWriteLocked() const { return !writing_since_ && !ending_; }
  const std::optional<Clock::time_point>& writing_since() const { return writing_since_; }

  bool forget_finish_ = false;  // a fault for tests: gRPC never hears of the end
  std::mutex mutex_;            // over all of the stream's state

 private:
  void FinishLocked() {
    if (std::exchange(finished_, true) || forget_finish_) return;
    this->Finish(*ending_);
  }

  std::shared_ptr<StreamMachine> self_;
  std::optional<grpc::Status> ending_;
  std::optional<Clock::time_point> writing_since_;
  bool finished_ = false;
};

}  // namespace vixen::server
