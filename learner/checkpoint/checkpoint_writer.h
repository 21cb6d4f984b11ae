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

// Writes one cut at a time on a thread of its own. The cut's memory stays here and is used again,
// so that making the next one costs no new pages. All calls from one thread.
class CheckpointWriter {
 public:
  explicit CheckpointWriter(CheckpointStore store);
  // Waits for the write under way.
  ~CheckpointWriter();

  // Where to put the next cut; null while the one before is being written.
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
  // As TakeResult, but waits for the write under way; nullopt when there is none.
  std::optional<Result> WaitForResult();

 private:
  enum class State { kIdle, kWriting, kDone };
  void Run();

  const CheckpointStore store_;
  LearnerCut cut_;
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kIdle;
  bool stopping_ = false;
  Result result_;
  std::thread thread_;
};

}  // namespace vixen::learner
