// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "learner/client/backoff.h"
#include "learner/parallel/rank_options.h"

namespace vixen::learner {

// The ranks of one policy, over c10d's Gloo. Every function but the accessors is collective: all
// members call the same ones in the same order, and each waits for the others, for at most the
// options' timeout. An error (UNAVAILABLE, naming what Gloo complains of) means that a member is
// gone or silent: what the call would have written is undefined then, and only FindSurvivors
// may be called next. One thread. LibTorch stays behind this header.
class Ranks {
 public:
  // Meets the others at master:port. DEADLINE_EXCEEDED naming the ranks that did not come within
  // join_timeout; CANCELLED when `stop` is set meanwhile.
  static absl::StatusOr<std::unique_ptr<Ranks>> Join(const RankOptions& options, StopFlag& stop);
  ~Ranks();

  int rank() const;  // as given, for ever
  const std::vector<int>& members()
      const;  // ranks that are still in, ascending; rank 0 is the first
  size_t size() const { return members().size(); }
  size_t place() const;  // of this rank among the members
  bool leads() const { return rank() == 0; }

  // What a silence is for a loss now.
  std::chrono::milliseconds timeout() const;

  // From here on a silence of `timeout` is a loss; before, while data are still being fetched and
  // checkpoints read, one of join_timeout.
  void Begin();

  // The sum over all members, the same bits at each of them.
  absl::Status Sum(std::span<float> values);
  // `mine` of every member, in the order of members(): [size, mine.size()].
  absl::StatusOr<std::span<const double>> Gather(std::span<const double> mine);
  absl::StatusOr<std::vector<std::string>> Gather(const std::string& mine);
  // Rank 0's bytes.
  absl::Status CopyFromLeader(std::span<std::byte> bytes);

  // After an error: finds the ranks that still answer. UNAVAILABLE when rank 0 is not among them,
  // or when they went on without this one. Takes at most waits.notice + waits.gather and two
  // seconds, and meanwhile calls `alive` from this thread, every 200 ms at least. Nothing changes
  // until GoOnWith.
  struct Survivors {
    std::vector<int> members, lost;
  };
  absl::StatusOr<Survivors> FindSurvivors(const LossWaits& waits,
                                          const std::function<void()>& alive);
  // Makes the survivors the members.
  absl::Status GoOnWith(const Survivors& survivors);

 private:
  struct State;
  explicit Ranks(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace vixen::learner
