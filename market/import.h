// SPDX-License-Identifier: Apache-2.0
// From bars of any reader to a dataset: segments, features, targets, scaler, split.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "market/bar.h"
#include "market/dataset.h"
#include "market/features.h"
#include "market/own_features.h"
#include "market/quality.h"

namespace vixen::market {

// Where the rows are divided by time.
struct SplitPoint {
  std::optional<int64_t> time_ns;  // rows from here on are later
  double share = 0;                // without a time: this share of all rows is earlier
};

// What a step in time that is longer than `max_gap_ns` comes to.
enum class Gaps {
  kSegment,  // it ends a segment
  kError,
  kDrop,  // the bars around it follow one another, as if the time between did not exist
};

struct ImportOptions {
  std::string source;  // where the bars came from, in words
  // Bars of a segment that give no row: ≥ 60, default 250; with own features ≥ 0, default 0.
  std::optional<int> warm_up;
  std::optional<int64_t> max_gap_ns;  // the longest step in time inside a segment
  std::optional<Gaps> gaps;           // without max_gap_ns: of steps longer than the bars' interval
  std::optional<OwnFeatures> own_features;  // instead of the 51
  int threads = 1;
  std::optional<SplitPoint> split;
  // With it, rows from `split` to here are the later side: a test block, with training rows before
  // and after it.
  std::optional<SplitPoint> split_end;
  uint64_t embargo = 0;  // rows left out after each cut, around the block on its training side
  // The scaler: fitted on rows `fit` (default: the split's earlier side, else the first 80 %),
  // taken from another dataset, or none.
  std::optional<BarRange> fit;
  std::shared_ptr<const Dataset> scaler_from;
  bool raw = false;
};

struct ImportReport {
  struct ShortSegment {
    int64_t first_time = 0;
    uint64_t bars = 0;
  };
  uint64_t bars = 0;
  uint64_t bar_segments = 0;
  uint64_t gap_cuts = 0;
  std::map<std::string, uint64_t> left_out;  // rows or records that gave no bar, by reason
  std::vector<ShortSegment> short_segments;  // too short for warm-up and two rows
  uint64_t rows = 0;
  uint64_t segments = 0;  // of the rows
  std::optional<uint64_t> train_rows;
  std::optional<int64_t> split_time, split_end;
  uint64_t embargoed = 0;
  uint64_t short_parts = 0;
  int64_t first_time = 0, last_time = 0;  // of the rows, ns UTC
  double lowest = 0, highest = 0;         // prices of the bars
  bool has_volume = true;
  double zero_volume_share = 0;
  std::optional<int64_t> max_gap_ns;
  QualityReport quality;
  std::string scaler;                                   // in words
  std::vector<std::pair<std::string, double>> clipped;  // share by column, largest first
  std::vector<std::string> constant_columns;
  std::vector<std::string> warnings;
  std::string fingerprint;
};

// Writes the dataset to `path` as a whole (temporary file, fsync, rename) and describes it. Memory:
// the bars and a few megabytes, whatever the number of features. INVALID_ARGUMENT for bars that are
// not valid (row, field, value) or too few, and for own features that do not fit them; usage errors
// for options that exclude each other or do not fit the data; FAILED_PRECONDITION when
// `scaler_from` has other columns. O(bars × window).
absl::StatusOr<ImportReport> ImportBars(Bars bars, const ImportOptions& options,
                                        const std::string& path);

}  // namespace vixen::market
