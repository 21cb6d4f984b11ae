// SPDX-License-Identifier: Apache-2.0
#include "learner/checkpoint/cut_check.h"

#include <cmath>
#include <set>
#include <string_view>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "kernels/batch/columns.h"

namespace vixen::learner {
namespace {

constexpr uint32_t kMostSlots = 65536;
constexpr float kMostSteps = 0x1p53f;  // counts are cast to uint64, which has none beyond 2^64

absl::Status Damaged(std::string_view where, size_t index, std::string_view what) {
  return absl::DataLossError(
      base::StrCat("checkpoint is damaged: ", where, " ", index, ": ", what));
}

absl::Status CheckRow(std::string_view where, size_t index, const ReplayRow& row, uint64_t bars) {
  if (uint64_t{row.bar} + 1 >= bars || row.bootstrap_bar >= bars) {
    return Damaged(where, index,
                   base::StrCat("bar ", row.bar, " and bootstrap bar ", row.bootstrap_bar,
                                ", the dataset has ", bars, " bars"));
  }
  if (row.action >= kernels::kActions) {
    return Damaged(where, index, base::StrCat("action is ", row.action));
  }
  bool finite = std::isfinite(row.reward) && std::isfinite(row.td) && row.td >= 0.0f &&
                row.discount >= 0.0f && row.discount <= 1.0f;
  for (int k = 0; k < kernels::kPortfolioFeatures; ++k) {
    finite = finite && std::isfinite(row.portfolio[k]) && std::isfinite(row.next_portfolio[k]) &&
             std::isfinite(row.bootstrap_portfolio[k]);
  }
  return finite ? absl::OkStatus()
                : Damaged(where, index, "a value is not finite, or below 0, or a discount above 1");
}

absl::Status CheckRows(std::string_view where, const RowColumns& rows, uint64_t bars) {
  for (size_t i = 0; i < rows.rows; ++i) {
    VIXEN_RETURN_IF_ERROR(CheckRow(where, i, rows.Row(i), bars));
  }
  return absl::OkStatus();
}

// No Adam has others: a root of them would be NaN, or a step of the wrong length.
absl::Status CheckOptimizer(std::string_view of, const OptimizerCut& cut) {
  const auto refused = [&](const auto&... what) {
    return absl::DataLossError(
        base::StrCat("checkpoint is damaged: optimizer of ", of, ": ", what...));
  };
  if (!(cut.steps >= 0) || cut.steps != std::floor(cut.steps) || cut.steps > kMostSteps) {
    return refused("steps are ", cut.steps);
  }
  for (size_t i = 0; i < cut.second.values.size(); ++i) {
    if (cut.second.values[i] < 0) {
      return refused("second moment ", i, " is ", cut.second.values[i]);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckRun(size_t place, const v1::CheckpointRun& run) {
  if (run.slots() > kMostSlots) {
    return Damaged("run", place, base::StrCat("slots are ", run.slots(), ", at most ", kMostSlots));
  }
  const v1::SequenceRange* before = nullptr;
  for (const v1::SequenceRange& range : run.sequences()) {
    const bool apart =
        before == nullptr || (before->last() < range.first() && range.first() - before->last() > 1);
    if (range.first() > range.last() || !apart) {
      return Damaged("run", place,
                     base::StrCat("sequences ", range.first(), " to ", range.last(),
                                  " are not in ascending, disjoint ranges"));
    }
    before = &range;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckCut(const LearnerCut& cut, uint64_t bars) {
  VIXEN_RETURN_IF_ERROR(CheckOptimizer("the network", cut.trainer.optimizer));
  if (cut.curiosity.has_value()) {
    VIXEN_RETURN_IF_ERROR(CheckOptimizer("curiosity", cut.curiosity->optimizer));
  }
  VIXEN_RETURN_IF_ERROR(CheckRows("row", cut.replay.rows, bars));
  VIXEN_RETURN_IF_ERROR(CheckRows("window", cut.window_rows, bars));
  std::set<uint64_t> run_ids;
  for (size_t place = 0; place < static_cast<size_t>(cut.head.runs_size()); ++place) {
    const v1::CheckpointRun& run = cut.head.runs(static_cast<int>(place));
    VIXEN_RETURN_IF_ERROR(CheckRun(place, run));
    if (!run_ids.insert(run.sheet().run_id()).second) {
      return Damaged("run", place,
                     base::StrCat("run id ", run.sheet().run_id(), " is there twice"));
    }
  }
  for (size_t i = 0; i < cut.window_run.size(); ++i) {
    if (cut.window_run[i] >= static_cast<uint64_t>(cut.head.runs_size())) {
      return Damaged("window", i,
                     base::StrCat("run ", cut.window_run[i], " of ", cut.head.runs_size()));
    }
  }
  return absl::OkStatus();
}

}  // namespace vixen::learner
