// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace vixen::market {

// The time before which `share` (0 … 1) of all rows lie, over all segments together: the time of
// the first row of the later side.
int64_t SplitTimeOfShare(std::span<const int64_t> timestamp, double share);

// Rows put in the order of a split by time: first, of each segment, the part before the split,
// then, of each segment, the part from it on.
struct SplitRows {
  std::vector<uint64_t> row;  // indices of the rows given
  std::vector<uint8_t> last;  // of the rows in their new order; each cut is one
  uint64_t train_rows = 0;    // rows of the earlier side
  uint64_t embargoed = 0;     // left out after a cut
  uint64_t short_parts = 0;   // parts with fewer than 2 rows: left out
};

// `embargo`: rows left out at the start of a later part whose segment was cut, so that no window
// and no label of the earlier part reaches into what remains.
SplitRows SplitByTime(std::span<const int64_t> timestamp, std::span<const uint8_t> last,
                      int64_t split_ns, uint64_t embargo);

}  // namespace vixen::market
