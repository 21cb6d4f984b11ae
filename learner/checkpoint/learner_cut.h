// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "learner/replay/replay.h"
#include "learner/replay/row_columns.h"
#include "learner/trainer/trainer_cut.h"
#include "vixen/v1/checkpoint.pb.h"

namespace vixen::learner {

// Everything that a learner goes on from, at one moment between two updates: plain data on the
// host, so that another thread can write it while training goes on.
struct LearnerCut {
  v1::Checkpoint head;
  TrainerCut trainer;
  std::optional<CuriosityCut> curiosity;
  ReplayCut replay;
  // Open n-step windows of all runs: place in head.runs, slot, and the step (`reward` is its own).
  std::vector<uint32_t> window_run, window_slot;
  RowColumns window_rows;
};

}  // namespace vixen::learner
