// SPDX-License-Identifier: Apache-2.0
// The folder of a learner's checkpoints: checkpoint-000001, checkpoint-000002, … A checkpoint is
// written under another name and renamed when it is whole and on disk, so that each of these
// folders is complete.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "learner/checkpoint/learner_cut.h"
#include "vixen/v1/config.pb.h"

namespace vixen::learner {

class CheckpointStore {
 public:
  // Nothing is made or read yet.
  CheckpointStore(std::string folder, uint32_t keep) : folder_(std::move(folder)), keep_(keep) {}

  // Numbers of the checkpoints, ascending; none when there is no such folder.
  std::vector<uint64_t> Numbers() const;
  std::string PathOf(uint64_t number) const;

  struct Written {
    std::string path;
    uint64_t bytes = 0;  // of all files
  };
  // Makes the next checkpoint, then removes all but the newest `keep` and what a killed process
  // left half-written. On error the older ones are as before. Any one thread.
  absl::StatusOr<Written> Write(const LearnerCut& cut) const;

  // What a resume goes on from.
  struct Found {
    LearnerCut cut;
    std::string path;
    std::vector<std::string> damaged;  // newer ones that were passed over, each with its fault
  };
  // Whether a cut that was read whole may be used.
  using Check = std::function<absl::Status(const LearnerCut&)>;
  // nullopt when there is no checkpoint. DATA_LOSS naming the newest one's fault and the remedy
  // when it is damaged, or `check` refuses it; with `previous_ok` only when all are.
  absl::StatusOr<std::optional<Found>> Newest(bool previous_ok, const Check& check) const;

 private:
  const std::string folder_;
  const uint32_t keep_;
};

}  // namespace vixen::learner
