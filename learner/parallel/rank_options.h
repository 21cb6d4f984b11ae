// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "vixen/v1/config.pb.h"

namespace vixen::learner {

// One of several learners that train one policy together.
struct RankOptions {
  int rank = 0;
  int world = 1;
  int local_rank = 0;        // among the ranks of this machine
  std::string master;        // host that all ranks meet at
  uint16_t port = 0;         // there
  bool serves_store = true;  // rank 0 answers there itself; false: the launcher does (torchrun)
  std::string attempt;       // tells restarts under one launcher apart
  std::chrono::milliseconds timeout{30'000};        // a rank that is silent for so long is lost
  std::chrono::milliseconds join_timeout{300'000};  // until all have come
};

// What a loss has the ranks wait for, once one of them has noticed it.
struct LossWaits {
  std::chrono::milliseconds notice;  // until the last of them has noticed it too
  std::chrono::milliseconds gather;  // rank 0, for those that have not
};

// With `timeout` as the longest silence that is no loss. A rank may be busy for so long before it
// turns to the others; one that waits for a sum on the GPUs (`on_gpus`) notices at the end of that
// time alone, and then ends what waits there, or joins. Where the ranks are to go on with the rest,
// none of those may be left behind: gather = notice. Where all stop, it is about a name in a
// message: 10 s at most.
LossWaits WaitsAfterLoss(std::chrono::milliseconds timeout, bool on_gpus, bool go_on);

using Environment = std::function<const char*(const char*)>;

// From RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT as torchrun sets them, LOCAL_RANK and
// TORCHELASTIC_USE_AGENT_STORE where they are there; JOB_COMPLETION_INDEX of a Kubernetes Indexed
// Job stands in for RANK. Nullopt where WORLD_SIZE is absent or 1: this learner is alone.
// FAILED_PRECONDITION naming the variable and its value where they make no sense, or where the
// meeting place is not loopback and `insecure` is false: what ranks say to each other is neither
// encrypted nor authenticated.
absl::StatusOr<std::optional<RankOptions>> RankOptionsOf(const v1::LearnerConfig& config,
                                                         const Environment& environment);

// What each rank must have for itself where one command line starts them all: out and the
// checkpoints' folder get "/rank-R" and port_file "-R" for R > 0, and ports that are not 0 rise by
// the local rank.
void SetApart(const RankOptions& rank, v1::LearnerConfig& config);

// Every setting that all ranks must share, a line each, for CheckAgreement; what
// SetApart changes, the consumer's name and where files lie are left out.
std::string SharedSettings(const v1::LearnerConfig& config);

// FAILED_PRECONDITION naming rank, setting and both values at the first line in which another rank
// differs from rank 0. `texts` by rank.
absl::Status CheckAgreement(const std::vector<std::string>& texts);

}  // namespace vixen::learner
