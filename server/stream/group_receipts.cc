// SPDX-License-Identifier: Apache-2.0
// What consumers say of the batches that were sent to them: inserted, durable, still held.
#include <algorithm>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "server/stream/group.h"

namespace vixen::server {

void Group::Reconcile(StreamId id, const std::vector<SequenceRange>& held) {
  const uint32_t consumer = streams_.at(id).consumer;
  // To hold a batch is to have acknowledged it, also when the message itself was lost on the way.
  for (auto kept = kept_.begin(); kept != kept_.end();) {
    const uint64_t sequence = (kept++)->first;
    const bool listed = std::any_of(held.begin(), held.end(), [&](const SequenceRange& range) {
      return range.first <= sequence && sequence <= range.last;
    });
    if (listed && ledger_.Find(sequence)->sent) SetAcknowledged(sequence, consumer);
  }
  const Tally lost_before = ledger_.tally(Place::kDroppedLost);
  uint64_t unlisted = 0;
  const auto lose = [consumer](const SequenceRecord& record) {
    SequenceRecord lost = record;
    if (record.place == Place::kAcknowledged && record.consumer == consumer) {
      lost.place = Place::kDroppedLost;
      lost.consumer = 0;
    }
    return lost;
  };
  for (const SequenceRange& range : held) {
    if (range.first > unlisted) ledger_.Update(unlisted, range.first - 1, lose);
    ledger_.Update(range.first, range.last, [consumer](const SequenceRecord& record) {
      SequenceRecord changed = record;
      if (record.place == Place::kDroppedOverflow && record.sent) {
        changed.place = Place::kAcknowledged;
        changed.consumer = consumer;
      }
      return changed;
    });
    unlisted = range.last + 1;
  }
  const bool all_listed = !held.empty() && held.back().last == kNoEnd;
  if (!all_listed) ledger_.Update(unlisted, kNoEnd, lose);
  const Tally& lost_now = ledger_.tally(Place::kDroppedLost);
  Tally& lost = lost_[consumer];
  lost.batches += lost_now.batches - lost_before.batches;
  lost.rows += lost_now.rows - lost_before.rows;
  Settle();
}

Tally Group::LostWith(StreamId id) const {
  const auto lost = lost_.find(streams_.at(id).consumer);
  return lost == lost_.end() ? Tally() : lost->second;
}

void Group::SetAcknowledged(uint64_t sequence, uint32_t consumer) {
  Release(sequence);
  SequenceRecord record = *ledger_.Find(sequence);
  record.place = Place::kAcknowledged;
  record.consumer = consumer;
  ledger_.Set(sequence, record);
}

absl::Status Group::Acknowledge(StreamId id, uint64_t sequence) {
  const std::optional<SequenceRecord> record = ledger_.Find(sequence);
  if (!record || !record->sent) {
    return absl::NotFoundError(
        base::StrCat("batch ", sequence, " was never sent to group \"", name_, "\""));
  }
  switch (record->place) {
    case Place::kRetained:
    case Place::kInFlight:
    case Place::kDroppedOverflow:
      SetAcknowledged(sequence, streams_.at(id).consumer);
      Settle();
      break;
    case Place::kNotOffered:
    case Place::kAcknowledged:
    case Place::kDurable:
    case Place::kDroppedLost:
    case Place::kDroppedSlow:
      break;
  }
  return absl::OkStatus();
}

absl::Status Group::CheckSent(const std::vector<SequenceRange>& ranges) const {
  for (const SequenceRange& range : ranges) {
    if (!ledger_.All(range.first, range.last,
                     [](const SequenceRecord& record) { return record.sent; })) {
      return absl::NotFoundError(base::StrCat("not all batches of ", range.first, " to ",
                                              range.last, " were sent to group \"", name_, "\""));
    }
  }
  return absl::OkStatus();
}

absl::Status Group::MarkDurable(const std::vector<SequenceRange>& ranges) {
  VIXEN_RETURN_IF_ERROR(CheckSent(ranges));
  for (const SequenceRange& range : ranges) {
    for (auto kept = kept_.lower_bound(range.first);
         kept != kept_.end() && kept->first <= range.last;) {
      Release((kept++)->first);
    }
    ledger_.Update(range.first, range.last, [](const SequenceRecord& record) {
      SequenceRecord changed = record;
      if (record.place != Place::kDroppedLost) {
        changed.place = Place::kDurable;
        changed.consumer = 0;
      }
      return changed;
    });
  }
  Settle();
  return absl::OkStatus();
}

}  // namespace vixen::server
