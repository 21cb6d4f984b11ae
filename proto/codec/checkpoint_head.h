// SPDX-License-Identifier: Apache-2.0
// The part of a checkpoint's folder that needs nothing of the learner: which files there are,
// whether they are whole, and state.textproto. docs/formats.md, "Checkpoint".
#pragma once

#include <array>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vixen/v1/checkpoint.pb.h"

namespace vixen::codec {

inline constexpr char kCheckpointWeights[] = "weights.safetensors";
inline constexpr char kCheckpointOptimizer[] = "optimizer.safetensors";
inline constexpr char kCheckpointReplay[] = "replay.safetensors";
inline constexpr char kCheckpointWindows[] = "windows.safetensors";
inline constexpr char kCheckpointState[] = "state.textproto";
// Those that SHA256SUMS names.
inline constexpr std::array<const char*, 5> kCheckpointFiles = {
    kCheckpointWeights, kCheckpointOptimizer, kCheckpointReplay, kCheckpointWindows,
    kCheckpointState};

// Compares every file with SHA256SUMS. DATA_LOSS naming the file that is missing or differs.
absl::Status VerifyCheckpoint(const std::string& folder);

// state.textproto alone. DATA_LOSS when it cannot be read.
absl::StatusOr<v1::Checkpoint> ReadCheckpointHead(const std::string& folder);

}  // namespace vixen::codec
