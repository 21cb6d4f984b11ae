// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace vixen::market {

// The time before which `share` (0 … 1) of all rows lie, over all segments together: the time of
// the first row of the later side.
int64_t SplitTimeOfShare(std::span<const int64_t> timestamp, double share);

// Bars [begin, end) of one segment that become rows; the last of them ends a segment of rows.
struct RowRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t rows() const { return end - begin; }
};

// Rows in the order of a split by time: first, of each range, the part before the split, then, of
// each range, the part from it on.
struct SplitRanges {
  std::vector<RowRange> ranges;
  uint64_t train_rows = 0;   // rows of the earlier side
  uint64_t embargoed = 0;    // left out beside a cut
  uint64_t short_parts = 0;  // parts with fewer than 2 rows: left out
};

// `timestamp`: of all bars, rising inside a range. `embargo`: rows left out at the start of a later
// part whose range was cut, so that no window and no label of the earlier part reaches into what
// remains.
SplitRanges SplitByTime(std::span<const int64_t> timestamp, std::span<const RowRange> ranges,
                        int64_t split_ns, uint64_t embargo);

// A test block [begin_ns, end_ns) inside the data: first, of each range, the parts before and after
// the block, then, of each range, the block; train_rows are those outside. `embargo`: rows left out
// of the parts at either side of the block, so that no label of a row before it reaches into it and
// none of its own into what comes after (López de Prado, Advances in Financial Machine Learning,
// 7.4: purging and embargo).
SplitRanges SplitAround(std::span<const int64_t> timestamp, std::span<const RowRange> ranges,
                        int64_t begin_ns, int64_t end_ns, uint64_t embargo);

}  // namespace vixen::market
