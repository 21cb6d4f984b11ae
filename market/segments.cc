// SPDX-License-Identifier: Apache-2.0
#include "market/segments.h"

namespace vixen::market {

namespace {

// A step inside a segment that is longer than `max_gap_ns`. Unsigned: a span may be wider than
// int64 nanoseconds.
bool IsGap(int64_t max_gap_ns, const Bars& bars, size_t bar) {
  const uint64_t step =
      static_cast<uint64_t>(bars.timestamp[bar]) - static_cast<uint64_t>(bars.timestamp[bar - 1]);
  return bars.last[bar - 1] == 0 && step > static_cast<uint64_t>(max_gap_ns);
}

}  // namespace

uint64_t CutAtGaps(int64_t max_gap_ns, Bars& bars) {
  uint64_t cuts = 0;
  for (size_t bar = 1; bar < bars.size(); ++bar) {
    if (!IsGap(max_gap_ns, bars, bar)) continue;
    bars.last[bar - 1] = 1;
    ++cuts;
  }
  return cuts;
}

std::optional<uint64_t> FirstGap(int64_t max_gap_ns, const Bars& bars) {
  for (size_t bar = 1; bar < bars.size(); ++bar) {
    if (IsGap(max_gap_ns, bars, bar)) return bar;
  }
  return std::nullopt;
}

std::vector<Segment> SegmentsOf(const std::vector<uint8_t>& last) {
  std::vector<Segment> segments;
  uint64_t begin = 0;
  for (uint64_t bar = 0; bar < last.size(); ++bar) {
    if (last[bar] == 0) continue;
    segments.push_back({begin, bar + 1});
    begin = bar + 1;
  }
  return segments;
}

}  // namespace vixen::market
