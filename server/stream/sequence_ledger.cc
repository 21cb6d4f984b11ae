// SPDX-License-Identifier: Apache-2.0
#include "server/stream/sequence_ledger.h"

#include <algorithm>
#include <iterator>

namespace vixen::server {
namespace {

bool IsFinal(Place place) {
  switch (place) {
    case Place::kNotOffered:
    case Place::kDurable:
    case Place::kDroppedLost:
    case Place::kDroppedSlow:
      return true;
    case Place::kRetained:
    case Place::kInFlight:
    case Place::kAcknowledged:
    case Place::kDroppedOverflow:
      return false;
  }
  return false;
}

}  // namespace

void SequenceLedger::Enter(SequenceRecord record, uint64_t batches, SequenceRecord& kept) {
  Count(record, batches, true);
  kept = record;
  if (!IsFinal(record.place)) return;
  kept.rows = 0;
  kept.consumer = 0;
}

void SequenceLedger::Count(const SequenceRecord& record, uint64_t batches, bool add) {
  Tally& tally = tallies_[static_cast<size_t>(record.place)];
  const uint64_t rows = batches * record.rows;
  tally.batches += add ? batches : -batches;
  tally.rows += add ? rows : -rows;
}

void SequenceLedger::Append(const SequenceRecord& record) {
  SequenceRecord kept;
  Enter(record, 1, kept);
  if (record.place != Place::kNotOffered) {
    ++offered_.batches;
    offered_.rows += record.rows;
  }
  const uint64_t sequence = next_++;
  if (!runs_.empty() && runs_.rbegin()->second.record == kept) {
    runs_.rbegin()->second.last = sequence;
  } else {
    runs_.emplace_hint(runs_.end(), sequence, Run{sequence, kept});
  }
}

std::optional<SequenceRecord> SequenceLedger::Find(uint64_t sequence) const {
  if (sequence < first_ || sequence >= next_) return std::nullopt;
  return std::prev(runs_.upper_bound(sequence))->second.record;
}

void SequenceLedger::SplitAt(uint64_t sequence) {
  if (sequence <= first_ || sequence >= next_) return;
  const auto run = std::prev(runs_.upper_bound(sequence));
  if (run->first == sequence) return;
  runs_.emplace_hint(std::next(run), sequence, Run{run->second.last, run->second.record});
  run->second.last = sequence - 1;
}

void SequenceLedger::JoinAround(uint64_t first, uint64_t last) {
  auto run = runs_.find(first);
  if (run != runs_.begin()) --run;
  while (true) {
    const auto next = std::next(run);
    if (next == runs_.end() || run->first > last) return;
    if (run->second.record == next->second.record) {
      run->second.last = next->second.last;
      runs_.erase(next);
    } else {
      run = next;
    }
  }
}

void SequenceLedger::Set(uint64_t sequence, const SequenceRecord& record) {
  Update(sequence, sequence, [&](const SequenceRecord&) { return record; });
}

void SequenceLedger::Update(uint64_t first, uint64_t last,
                            const std::function<SequenceRecord(const SequenceRecord&)>& change) {
  if (next_ == first_) return;
  first = std::max(first, first_);
  last = std::min(last, next_ - 1);
  if (first > last) return;
  SplitAt(first);
  SplitAt(last + 1);
  for (auto run = runs_.find(first); run != runs_.end() && run->first <= last; ++run) {
    const uint64_t batches = run->second.last - run->first + 1;
    Count(run->second.record, batches, false);
    Enter(change(run->second.record), batches, run->second.record);
  }
  JoinAround(first, last);
}

bool SequenceLedger::All(uint64_t first, uint64_t last,
                         const std::function<bool(const SequenceRecord&)>& test) const {
  if (first < first_ || last >= next_ || first > last) return false;
  for (auto run = std::prev(runs_.upper_bound(first)); run != runs_.end() && run->first <= last;
       ++run) {
    if (!test(run->second.record)) return false;
  }
  return true;
}

}  // namespace vixen::server
