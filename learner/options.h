// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "proto/config/config_file.h"
#include "vixen/v1/config.pb.h"

namespace vixen::learner {

// After the flags were applied: fills in what depends on this machine (consumer, cache), clears the
// network widths that were not given (they are the actor's then), and checks what config.proto
// cannot say. Usage errors.
absl::Status CompleteConfig(const config::Origins& origins, v1::LearnerConfig& config);

// Where checkpoints are looked for and kept; empty when neither it nor `out` is set.
std::string CheckpointFolder(const v1::LearnerConfig& config);
// Whether any are to be made.
bool MakesCheckpoints(const v1::LearnerConfig& config);

// Whether the replay, where it is on the host, with the copy that checkpoints are written from,
// fits into what the cgroup allows, or the machine has: a usage error with the arithmetic where it
// does not. Without it the kernel would end the process when the replay has filled.
absl::Status CheckMemory(const v1::LearnerConfig& config, bool replay_on_host);
// The same against `limit` bytes.
absl::Status CheckMemory(const v1::LearnerConfig& config, bool replay_on_host, uint64_t limit);

// LibTorch's CPU threads: as configured, else what the cgroup and affinity allow less one for an
// actor on this machine.
int TorchThreads(const v1::LearnerConfig& config);

}  // namespace vixen::learner
