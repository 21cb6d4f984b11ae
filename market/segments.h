// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "market/bar.h"

namespace vixen::market {

// Ends a segment before every bar that starts more than `max_gap_ns` after the one before it.
// Returns the number of new cuts.
uint64_t CutAtGaps(int64_t max_gap_ns, Bars& bars);

// The first bar inside a segment that starts more than `max_gap_ns` after the one before it.
std::optional<uint64_t> FirstGap(int64_t max_gap_ns, const Bars& bars);

struct Segment {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t bars() const { return end - begin; }
};

// The segments that `last` marks, in order.
std::vector<Segment> SegmentsOf(const std::vector<uint8_t>& last);

}  // namespace vixen::market
