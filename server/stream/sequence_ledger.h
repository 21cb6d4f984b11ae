// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>

namespace vixen::server {

// Where a batch of a policy is, seen from one group.
enum class Place : uint8_t {
  kNotOffered,       // launched while the group had no credit; outside the sum; final
  kRetained,         // here, waiting to be sent (again)
  kInFlight,         // sent, not acknowledged
  kAcknowledged,     // inserted by a consumer
  kDurable,          // in a consumer's checkpoint; final
  kDroppedOverflow,  // retain_batches, after it was offered
  kDroppedLost,      // acknowledged, then lost with its consumer; final
  kDroppedSlow,      // the group had credit, but retain_batches waited for it already; final
};
inline constexpr size_t kPlaces = 8;

// The last of a range that goes on for ever.
inline constexpr uint64_t kNoEnd = std::numeric_limits<uint64_t>::max();

struct SequenceRecord {
  Place place = Place::kNotOffered;
  bool sent = false;      // at least once, to anyone of the group
  uint32_t consumer = 0;  // who has it in flight or acknowledged it; 0: nobody
  uint64_t rows = 0;      // 0 in a final place: only the tally knows them

  friend bool operator==(const SequenceRecord&, const SequenceRecord&) = default;
};

struct Tally {
  uint64_t batches = 0;
  uint64_t rows = 0;

  friend bool operator==(const Tally&, const Tally&) = default;
};

// The books of one group: the place of every sequence since the group began, kept as runs of equal
// records. A record in a final place keeps neither rows nor consumer, so that such records are
// equal and what is durable costs no memory, however many batches passed and whoever took them.
// Tallies are carried along with every change. Not thread-safe.
class SequenceLedger {
 public:
  explicit SequenceLedger(uint64_t first) : first_(first), next_(first) {}

  uint64_t first() const { return first_; }
  uint64_t next() const { return next_; }

  // The record of sequence next(). O(log runs).
  void Append(const SequenceRecord& record);
  std::optional<SequenceRecord> Find(uint64_t sequence) const;
  void Set(uint64_t sequence, const SequenceRecord& record);
  // Replaces each record of [first, last] (cut to what is known) by change(record). O(runs inside).
  void Update(uint64_t first, uint64_t last,
              const std::function<SequenceRecord(const SequenceRecord&)>& change);
  // True when `test` holds for every sequence of [first, last] and all of them are known.
  bool All(uint64_t first, uint64_t last,
           const std::function<bool(const SequenceRecord&)>& test) const;

  const Tally& tally(Place place) const { return tallies_[static_cast<size_t>(place)]; }
  // Everything but kNotOffered.
  Tally offered() const { return offered_; }
  size_t runs() const { return runs_.size(); }

 private:
  struct Run {
    uint64_t last;
    SequenceRecord record;
  };
  using Runs = std::map<uint64_t, Run>;

  void SplitAt(uint64_t sequence);
  void JoinAround(uint64_t first, uint64_t last);
  void Count(const SequenceRecord& record, uint64_t batches, bool add);
  // Counts the batches of the run into their new place, and keeps of the record what still matters.
  void Enter(SequenceRecord record, uint64_t batches, SequenceRecord& kept);

  uint64_t first_;
  uint64_t next_;
  Runs runs_;  // by first sequence; without gaps from first_ to next_ − 1
  std::array<Tally, kPlaces> tallies_{};
  Tally offered_;
};

}  // namespace vixen::server
