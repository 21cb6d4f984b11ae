// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "learner/replay/row.h"

namespace vixen::learner {

// Planted faults: what the test-bed must notice.
enum class RowFault : uint8_t {
  kNone,
  kWrongAction,     // the next allowed action is learned from
  kNoBootstrap,     // every row is taken for terminal
  kLookahead,       // s shows the bar after its own
  kBlindPortfolio,  // neither s nor the bootstrap state shows the portfolio
  kLateReward,      // a row has the reward of the step before it
};

struct NStepOptions {
  uint32_t n = 1;  // longest window
  double gamma = 0.99;
  bool cut_exploratory = true;   // a window ends before a later exploratory row
  bool carry_over = false;       // windows span consecutive launches
  double reward_scale = 1.0;     // other than 1 only as a planted fault
  bool stale_bootstrap = false;  // planted fault: features of the bar before the bootstrap state's
  RowFault fault = RowFault::kNone;
  uint64_t bars = 0;                                                  // of the dataset
  uint64_t allowed_actions = (uint64_t{1} << kernels::kActions) - 1;  // bit a: action a may occur
};

// Why rows of a launch were not taken.
struct RowRejects {
  uint64_t non_finite = 0;    // NaN or infinity in a float column, or a negative td
  uint64_t out_of_range = 0;  // bar outside the dataset, or an action that is not allowed

  uint64_t total() const { return non_finite + out_of_range; }
};

// The open windows of a builder.
struct WindowsCut {
  uint64_t next_launch = 0;
  uint32_t slots = 0;           // of the launches seen; 0: none
  std::vector<uint32_t> slot;   // of each row; ascending
  std::vector<ReplayRow> rows;  // a slot's oldest first; `reward` is the step's own
};

// Turns launches of one run into replay rows. Row i takes the rewards i … i+m−1; m is the least of
// n, the steps to a terminal or truncated row (included), the steps to the next exploratory row j >
// i (excluded; the row's own flag never cuts) and the steps to the end of the launch. With
// `carry_over` a window goes on in launch k+1 of the same run: its row waits, and is given out once
// it can close or once it is known that launch k+1 will not come. One object a run; one thread.
class NStepBuilder {
 public:
  explicit NStepBuilder(NStepOptions options);

  // Appends the rows that became complete to `out`, slot by slot, each slot in time order. A
  // rejected row cuts the windows before it. O(rows · n). `launch`
  // is the batch's number in its run.
  RowRejects Add(uint64_t launch, const LaunchRows& rows, RowList& out);

  // Closes every open window at the last row seen (the run or the stream of its launches ended).
  void Flush(RowList& out);

  WindowsCut Save() const;
  // Into a new builder. INVALID_ARGUMENT when a slot is out of range or out of order, or has more
  // rows than windows can be open.
  absl::Status Restore(const WindowsCut& cut);

  // Rows whose window is still open.
  size_t pending() const { return pending_rows_; }

 private:
  // Rows of one slot whose windows are open: the last of `out`, from `front` on, each with its own
  // reward until it is closed. At most n − 1 between rows.
  struct OpenWindows {
    RowList& out;
    size_t front;
  };

  void AddStep(const LaunchRows& rows, size_t index, OpenWindows& open) const;
  // Puts the planted fault into the newest row.
  void Spoil(const LaunchRows& rows, size_t index, ReplayRow& row) const;
  // Closes the oldest window; it ends with the last row.
  void CloseFront(bool terminal, OpenWindows& open) const;
  void CloseAll(bool terminal, OpenWindows& open) const;

  const NStepOptions options_;
  std::vector<std::vector<ReplayRow>> tails_;  // [N], open between launches
  uint64_t next_launch_ = 0;
  size_t pending_rows_ = 0;
};

}  // namespace vixen::learner
