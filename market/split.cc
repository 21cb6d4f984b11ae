// SPDX-License-Identifier: Apache-2.0
#include "market/split.h"

#include <algorithm>

#include "market/segments.h"

namespace vixen::market {
namespace {

void AddPart(uint64_t begin, uint64_t end, SplitRows& split) {
  if (begin >= end) return;
  if (end - begin < 2) {
    ++split.short_parts;
    return;
  }
  for (uint64_t row = begin; row < end; ++row) {
    split.row.push_back(row);
    split.last.push_back(row + 1 == end ? 1 : 0);
  }
}

}  // namespace

int64_t SplitTimeOfShare(std::span<const int64_t> timestamp, double share) {
  std::vector<int64_t> sorted(timestamp.begin(), timestamp.end());
  const size_t index =
      std::min(static_cast<size_t>(share * static_cast<double>(sorted.size())), sorted.size() - 1);
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(index), sorted.end());
  return sorted[index];
}

SplitRows SplitByTime(std::span<const int64_t> timestamp, std::span<const uint8_t> last,
                      int64_t split_ns, uint64_t embargo) {
  const std::vector<Segment> segments = SegmentsOf({last.begin(), last.end()});
  std::vector<uint64_t> cut;
  SplitRows split;
  for (const Segment& segment : segments) {
    const auto begin = timestamp.begin() + static_cast<ptrdiff_t>(segment.begin);
    const auto end = timestamp.begin() + static_cast<ptrdiff_t>(segment.end);
    const auto at = std::lower_bound(begin, end, split_ns);
    cut.push_back(segment.begin + static_cast<uint64_t>(at - begin));
    AddPart(segment.begin, cut.back(), split);
  }
  split.train_rows = split.row.size();
  for (size_t i = 0; i < segments.size(); ++i) {
    const bool whole = cut[i] == segments[i].begin;
    const uint64_t skipped = whole ? 0 : std::min(embargo, segments[i].end - cut[i]);
    split.embargoed += skipped;
    AddPart(cut[i] + skipped, segments[i].end, split);
  }
  return split;
}

}  // namespace vixen::market
