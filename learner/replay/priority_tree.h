// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/cache_line.h"

namespace vixen::learner {

// Priorities of rows, with their sum, the least positive and, if asked for, the largest of them: a
// tree of fan-out 16 over float32 leaves, so that a node's leaves are one cache line. Nodes are
// recomputed from their children in a fixed order, never adjusted by differences: an outlier leaves
// no residue, nothing drifts, and every number is a function of the leaves alone. Sums are float64.
// Many leaves are found or set at once, level by level, so that their reads of memory do not wait
// for each other. One thread. Memory: 5.3 bytes a leaf, 5.6 with the largest.
class PriorityTree {
 public:
  static constexpr size_t kFanOut = 16;

  // `leaves` ≥ 1 of them, all 0.
  PriorityTree(size_t leaves, bool with_most);
  static uint64_t BytesOf(uint64_t leaves, bool with_most);

  float leaf(size_t index) const { return leaves_[index]; }
  // And zeros after them.
  std::span<const float> leaves() const { return leaves_; }
  double sum() const { return levels_.back().through[kFanOut - 1]; }
  // Of the positive leaves; infinity without any.
  float least() const { return least_; }
  // 0 unless it is kept.
  float most() const { return most_; }

  // leaf(index[i]) = values[i] ≥ 0, finite, in this order. Cheapest for ascending indices, whose
  // common nodes are computed once. O(count · log leaves).
  void SetMany(std::span<const uint32_t> index, std::span<const float> values);
  // Consecutive leaves [begin, begin + values.size()). O(values + log leaves).
  void SetRange(size_t begin, std::span<const float> values);

  // The leaves in whose shares of [0, sum()) the masses lie; the masses are used up. One on a
  // border belongs to the leaf after it, one beyond the sum to the last leaf. Never a leaf of 0
  // while sum() is positive, whatever rounding did. O(count · log leaves).
  void FindMany(std::span<double> mass, std::span<uint32_t> index) const;

 private:
  // Nodes in groups of kFanOut siblings, the children of one node; what fills the last group up
  // is 0.
  struct Level {
    base::CacheLineVector<double> sum, through;  // through: the group's sums up to this one
    base::CacheLineVector<float> least, most;
  };

  void RecomputeAboveLeaves(size_t node);
  void RecomputeAbove(size_t level, size_t node);

  base::CacheLineVector<float> leaves_;
  std::vector<Level> levels_;  // from the leaves up; the last is one group
  float least_, most_ = 0;
  const bool with_most_;
  std::vector<uint32_t> touched_;  // scratch of SetMany
};

}  // namespace vixen::learner
