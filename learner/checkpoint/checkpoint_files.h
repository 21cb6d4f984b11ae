// SPDX-License-Identifier: Apache-2.0
// One checkpoint on disk: a folder with weights.safetensors (a bundle as any other),
// optimizer.safetensors, replay.safetensors, windows.safetensors, state.textproto, and SHA256SUMS,
// which `sha256sum -c` reads as well. docs/formats.md, "Checkpoint".
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "learner/checkpoint/learner_cut.h"

namespace vixen::learner {

// Writes the files into the existing, empty folder, each fsynced, SHA256SUMS last.
absl::Status WriteCheckpointFiles(const std::string& folder, const LearnerCut& cut);

// Verifies, then reads everything. DATA_LOSS naming file and fault.
absl::StatusOr<LearnerCut> ReadCheckpointFiles(const std::string& folder);

}  // namespace vixen::learner
