// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "learner/checkpoint/checkpoint_store.h"

namespace vixen::learner {

// Writes one cut at a time on a thread of its own. The memory for a full replay is made on that
// thread at the start and used again and again, so that making a cut costs no new pages. All calls
// from one thread.
class CheckpointWriter {
 public:
  CheckpointWriter(CheckpointStore store, size_t replay_capacity);
  // Waits for the write under way.
  ~CheckpointWriter();

  // Where to put the next cut; null while the memory is being made or the cut before written.
  LearnerCut* Begin();
  // Writes what was put there.
  void Commit();

  struct Result {
    absl::Status status;
    CheckpointStore::Written written;
    double seconds = 0;
    std::vector<v1::CheckpointRun> runs;  // of the cut
  };
  // The result of a write that has ended since the last call.
  std::optional<Result> TakeResult();
  // As TakeResult, but waits for what is under way; nullopt when nothing was written.
  std::optional<Result> WaitForResult();

 private:
  enum class State { kBusy, kIdle, kWriting, kDone };
  void Run();

  const CheckpointStore store_;
  const size_t replay_capacity_;
  LearnerCut cut_;
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kBusy;
  bool stopping_ = false;
  Result result_;
  std::thread thread_;
};

}  // namespace vixen::learner
