// SPDX-License-Identifier: Apache-2.0
// One checkpoint on disk: a folder with weights.safetensors (a bundle as any other),
// optimizer.safetensors, replay.safetensors, windows.safetensors, state.textproto, and SHA256SUMS,
// which `sha256sum -c` reads as well. docs/formats.md, "Checkpoint".
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/tensor_file.h"
#include "learner/checkpoint/learner_cut.h"

namespace vixen::learner {

// Writes the files into the existing, empty folder, each fsynced, SHA256SUMS last.
absl::Status WriteCheckpointFiles(const std::string& folder, const LearnerCut& cut);

struct CheckpointTensors {
  const base::TensorFile &weights, &optimizer, &replay, &windows;
};

// The cut that such files hold together with their head. DATA_LOSS naming file and tensor where
// names, types or shapes are others than the head says. Values are not judged: CheckCut does.
absl::StatusOr<LearnerCut> AssembleCut(v1::Checkpoint head, const CheckpointTensors& files);

// Verifies, then reads everything. DATA_LOSS naming file and fault.
absl::StatusOr<LearnerCut> ReadCheckpointFiles(const std::string& folder);

}  // namespace vixen::learner
