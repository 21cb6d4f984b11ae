// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "base/cache_line.h"
#include "learner/replay/priority_tree.h"
#include "learner/replay/random.h"
#include "learner/replay/row.h"
#include "learner/replay/row_columns.h"

namespace vixen::learner {

struct ReplayOptions {
  uint64_t capacity = 1'000'000;  // rows
  double alpha = 0.6;             // 0: uniform
  double epsilon = 1e-6;          // added to |td|
  double beta_start = 0.4;
  double beta_end = 1.0;
  uint64_t beta_updates = 100'000;
  bool start_at_max = false;  // new rows get the largest leaf that a row has now; else their td's
  uint64_t seed = 1;
};

// Everything that a replay holds, copied: rows by slot, their leaves, generations (they follow from
// `inserted` and the capacity) and the sampler.
struct ReplayCut {
  RowColumns rows;             // [size]
  std::vector<double> leaves;  // [size] or longer, as the columns
  uint64_t inserted = 0;
  uint64_t sampler = 0;
};

// INVALID_ARGUMENT when the cut cannot be of a replay of this capacity, or a leaf is no priority.
absl::Status CheckCut(const ReplayCut& cut, uint64_t capacity);

// Sampled rows of one update, reused from update to update.
struct Sample {
  std::vector<uint32_t> slot;        // place in the ring
  std::vector<uint64_t> generation;  // insertion number of the row: names it for ever
  std::vector<float> weight;         // importance weight, ≤ 1
};

// What became of priority updates.
struct PriorityUpdates {
  uint64_t applied = 0;
  uint64_t stale = 0;  // the row was overwritten since it was sampled
};

// Values that were refused as a priority; the row keeps the one it had.
struct PriorityRejects {
  uint64_t nan = 0;
  uint64_t positive_infinity = 0;
  uint64_t negative_infinity = 0;
  uint64_t negative = 0;

  uint64_t total() const { return nan + positive_infinity + negative_infinity + negative; }
};

// Prioritised replay, proportional variant (arXiv:1511.05952): a ring of rows by insertion, a leaf
// (|td| + epsilon)^alpha for each, P(i) = leaf_i / Σ leaf, weight (N·P(i))^−β over the largest of
// all rows (global minimum of P). Sampling is stratified. All leaves zero: uniform, weights 1. One
// thread. The same draws, weights and leaves on every processor. Memory: a cache line a row and the
// tree (priority_tree.h).
class Replay {
 public:
  explicit Replay(ReplayOptions options);

  // Bytes that a replay of `capacity` rows takes.
  static uint64_t BytesOf(uint64_t capacity, bool start_at_max = false);

  uint64_t size() const { return inserted_ < options_.capacity ? inserted_ : options_.capacity; }
  uint64_t capacity() const { return options_.capacity; }
  // Rows ever inserted; also the generation of the next row.
  uint64_t inserted() const { return inserted_; }

  // The oldest rows make room. A row whose td is refused as a priority starts with the mean leaf,
  // or 1 in an empty replay. With start_at_max each starts with the largest leaf that a live row
  // has when the call comes, or 1. O(rows).
  void Insert(std::span<const ReplayRow> rows);

  // β for the given number of updates, linear from beta_start to beta_end.
  double BetaAt(uint64_t updates) const { return BetaAt(options_, updates); }
  static double BetaAt(const ReplayOptions& options, uint64_t updates);

  // `count` draws, one from each of `count` equal parts of the mass. Size must be ≥ 1.
  // `least_share`: that of all replays when several are drawn from alike and train together; 0:
  // this one's own.
  void Draw(size_t count, double beta, Sample& sample, double least_share = 0);
  // The least positive P(i); 0 in an empty replay.
  double LeastShare() const;

  // |td| of sampled rows, by (slot, generation).
  PriorityUpdates Update(std::span<const uint32_t> slot, std::span<const uint64_t> generation,
                         std::span<const float> td);

  // Copies everything into `cut`, whose memory is used again.
  void Save(ReplayCut& cut) const;
  // Into a replay that holds nothing yet: from here on the same draws as where the cut was made.
  // Errors of CheckCut.
  absl::Status Restore(const ReplayCut& cut);
  // Bytes that a cut of a full replay takes.
  static uint64_t CutBytesOf(uint64_t capacity);

  const ReplayRow& row(uint32_t slot) const { return rows_[slot].row; }
  float leaf(uint32_t slot) const { return tree_.leaf(slot); }
  double total() const { return tree_.sum(); }
  const PriorityRejects& rejects() const { return rejects_; }

 private:
  // One line of the cache, so that a row is read with one miss.
  struct alignas(base::kCacheLine) Slot {
    ReplayRow row;
  };

  // Which row is in a slot now.
  struct Generations {
    uint64_t oldest, oldest_slot, capacity;
    uint64_t Of(uint64_t slot) const {
      return oldest + slot - oldest_slot + (slot < oldest_slot ? capacity : 0);
    }
  };
  Generations generations() const {
    const uint64_t oldest = inserted_ - size();
    return {oldest, oldest % options_.capacity, options_.capacity};
  }
  // leaves_[i] of a |td|, or −1 (counted) where it is refused.
  void ComputeLeaves(std::span<const float> td);
  // The importance weights of the slots drawn, beta > 0.
  void WeighDrawn(double beta, double least_share, Sample& sample) const;

  const ReplayOptions options_;
  base::CacheLineVector<Slot> rows_;
  PriorityTree tree_;
  uint64_t inserted_ = 0;
  SplitMix64 random_;
  PriorityRejects rejects_;
  // Scratch of Insert, Draw and Update.
  std::vector<double> mass_;
  std::vector<float> td_, leaves_;
  std::vector<uint32_t> updated_;
};

}  // namespace vixen::learner
