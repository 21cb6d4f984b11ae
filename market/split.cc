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

// The first row of the range from `time` on.
uint64_t RowAt(std::span<const int64_t> timestamp, const RowRange& range, int64_t time) {
  const auto begin = timestamp.begin() + static_cast<ptrdiff_t>(range.begin);
  const auto end = timestamp.begin() + static_cast<ptrdiff_t>(range.end);
  return range.begin + static_cast<uint64_t>(std::lower_bound(begin, end, time) - begin);
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
    cut.push_back(RowAt(timestamp, range, split_ns));
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

SplitRanges SplitAround(std::span<const int64_t> timestamp, std::span<const RowRange> ranges,
                        int64_t begin_ns, int64_t end_ns, uint64_t embargo) {
  SplitRanges split;
  for (const RowRange& range : ranges) {
    const uint64_t begin = RowAt(timestamp, range, begin_ns);
    const uint64_t end = RowAt(timestamp, range, end_ns);
    if (begin == end) {
      AddPart(range, split);  // nothing of it is in the block
      continue;
    }
    const uint64_t before = std::min(embargo, begin - range.begin);
    const uint64_t after = std::min(embargo, range.end - end);
    split.embargoed += before + after;
    AddPart({range.begin, begin - before}, split);
    AddPart({end + after, range.end}, split);
  }
  for (const RowRange& part : split.ranges) split.train_rows += part.rows();
  for (const RowRange& range : ranges) {
    AddPart({RowAt(timestamp, range, begin_ns), RowAt(timestamp, range, end_ns)}, split);
  }
  return split;
}

}  // namespace vixen::market
