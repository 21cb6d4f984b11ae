// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kernels/batch/statistics.h"
#include "learner/trainer/td_loss.h"

namespace vixen::learner {

// Sums since the last line.
struct LogWindow {
  uint64_t updates = 0;
  double loss = 0, mean_abs_td = 0, mean_q = 0, max_q = 0,
         gradient_norm = 0;  // sums; max_q largest
  double curiosity_loss = 0;
  uint64_t curiosity_updates = 0;
  uint64_t rows = 0;     // inserted
  uint64_t samples = 0;  // drawn
  uint64_t batches = 0;
  double staleness = 0;  // versions, summed over batches
  kernels::LaunchStatistics launches;
  double clipped_rows = 0;                               // shares, summed over updates
  double effective_samples = 0;                          // (Σw)²/(B·Σw²), summed over updates
  std::array<uint64_t, kernels::kActions> actions = {};  // of the inserted rows
  std::vector<float> abs_td, taken_q;                    // of some rows: the distributions
  std::vector<double> age_versions, age_seconds;         // of some sampled rows

  void Add(const UpdateStatistics& update);
};

// Of each reward term in the sum of the terms' variances; all 0 when nothing varies.
std::array<double, kernels::kRewardTerms> VarianceShares(const kernels::LaunchStatistics& launches);

// Where the run stands.
struct LogState {
  double seconds = 0;  // since the start of this process
  uint64_t transitions = 0, updates = 0;
  double epsilon = 0, beta = 0;
  uint64_t online_version = 0;
  uint64_t replay_rows = 0;
  double limiter_error = 0;
  double learner_wait_seconds = 0, actor_wait_seconds = 0;  // totals
  double learners_needed = -1;                              // −1: not known
  double eta_seconds = -1;                                  // −1: no end was set
};

// OUT/training.jsonl: one JSON object a line, flushed, so that a reader can follow.
// docs/learning.md lists the fields. A field without a value in this window (no updates, no batch)
// is null.
class TrainingLog {
 public:
  // Appends to an existing file with `append`; of one that ends within a line, as a killed process
  // leaves it, that line is cut off. PERMISSION_DENIED or the like, naming the file.
  absl::Status Open(const std::string& path, bool append);
  // `window` covers `window_seconds`. RESOURCE_EXHAUSTED when the disk is full; the next line is
  // written as if this one had never been begun.
  absl::Status Write(const LogState& state, const LogWindow& window, double window_seconds);

 private:
  std::string path_;
  std::ofstream file_;
};

// "12,345 tr/s  390 up/s  ε 0.21  loss 0.0123  reward pnl +0.01 …  stale 1.2  ETA 1:23".
std::string ProgressLine(const LogState& state, const LogWindow& window, double window_seconds);

}  // namespace vixen::learner
