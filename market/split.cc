// SPDX-License-Identifier: Apache-2.0
#include "market/split.h"

#include <algorithm>

namespace vixen::market {
namespace {

void AddPart(RowRange part, SplitRanges& split) {
  if (part.begin >= part.end) return;
  if (part.rows() < 2) {
    ++split.short_parts;
  } else {
    split.ranges.push_back(part);
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

SplitRanges SplitByTime(std::span<const int64_t> timestamp, std::span<const RowRange> ranges,
                        int64_t split_ns, uint64_t embargo) {
  std::vector<uint64_t> cut;
  SplitRanges split;
  for (const RowRange& range : ranges) {
    const auto begin = timestamp.begin() + static_cast<ptrdiff_t>(range.begin);
    const auto end = timestamp.begin() + static_cast<ptrdiff_t>(range.end);
    const auto at = std::lower_bound(begin, end, split_ns);
    cut.push_back(range.begin + static_cast<uint64_t>(at - begin));
    AddPart({range.begin, cut.back()}, split);
  }
  for (const RowRange& part : split.ranges) split.train_rows += part.rows();
  for (size_t i = 0; i < ranges.size(); ++i) {
    const bool whole = cut[i] == ranges[i].begin;
    const uint64_t skipped = whole ? 0 : std::min(embargo, ranges[i].end - cut[i]);
    split.embargoed += skipped;
    AddPart({cut[i] + skipped, ranges[i].end}, split);
  }
  return split;
}

}  // namespace vixen::market
