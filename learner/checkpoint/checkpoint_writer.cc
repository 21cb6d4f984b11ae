// SPDX-License-Identifier: Apache-2.0
#include "learner/checkpoint/checkpoint_writer.h"

#include <chrono>
#include <utility>

namespace vixen::learner {

CheckpointWriter::CheckpointWriter(CheckpointStore store, size_t replay_capacity)
    : store_(std::move(store)), replay_capacity_(replay_capacity) {
  thread_ = std::thread([this] { Run(); });
}

CheckpointWriter::~CheckpointWriter() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CheckpointWriter::Run() {
  cut_.replay.rows.Reserve(replay_capacity_);
  cut_.replay.leaves.resize(replay_capacity_);
  std::unique_lock lock(mutex_);
  state_ = State::kIdle;
  changed_.notify_all();
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || state_ == State::kWriting; });
    if (state_ != State::kWriting) return;
    lock.unlock();
    const auto start = std::chrono::steady_clock::now();
    absl::StatusOr<CheckpointStore::Written> written = store_.Write(cut_);
    Result result;
    result.status = written.status();
    if (written.ok()) result.written = *std::move(written);
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    result.runs.assign(cut_.head.runs().begin(), cut_.head.runs().end());
    lock.lock();
    result_ = std::move(result);
    state_ = State::kDone;
    changed_.notify_all();
  }
}

LearnerCut* CheckpointWriter::Begin() {
  std::lock_guard lock(mutex_);
  return state_ == State::kIdle ? &cut_ : nullptr;
}

void CheckpointWriter::Commit() {
  std::lock_guard lock(mutex_);
  state_ = State::kWriting;
  changed_.notify_all();
}

std::optional<CheckpointWriter::Result> CheckpointWriter::TakeResult() {
  std::lock_guard lock(mutex_);
  if (state_ != State::kDone) return std::nullopt;
  state_ = State::kIdle;
  return std::move(result_);
}

std::optional<CheckpointWriter::Result> CheckpointWriter::WaitForResult() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return state_ == State::kIdle || state_ == State::kDone; });
  }
  return TakeResult();
}

}  // namespace vixen::learner
