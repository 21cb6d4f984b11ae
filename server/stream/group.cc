// SPDX-License-Identifier: Apache-2.0
#include "server/stream/group.h"

#include <algorithm>
#include <utility>

#include "base/str_cat.h"

namespace vixen::server {

uint32_t Group::ConsumerIndex(const std::string& consumer) {
  return consumers_.emplace(consumer, static_cast<uint32_t>(consumers_.size() + 1)).first->second;
}

bool Group::HasConsumer(const std::string& consumer) const {
  const auto found = consumers_.find(consumer);
  if (found == consumers_.end()) return false;
  return std::any_of(streams_.begin(), streams_.end(),
                     [&](const auto& entry) { return entry.second.consumer == found->second; });
}

bool Group::HasCredit() const {
  return std::any_of(streams_.begin(), streams_.end(),
                     [](const auto& entry) { return entry.second.credit > 0; });
}

void Group::Open(StreamId id, const std::string& consumer, std::function<void()> wake) {
  Stream& stream = streams_[id];
  last_opened_ = id;
  stream.consumer = ConsumerIndex(consumer);
  stream.wake = std::move(wake);
}

void Group::Close(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  const uint32_t consumer = found->second.consumer;
  streams_.erase(found);
  for (auto& [sequence, kept] : kept_) {
    if (kept.stream != id) continue;
    kept.stream = kNobody;
    SequenceRecord record = *ledger_.Find(sequence);
    record.place = Place::kRetained;
    record.consumer = 0;
    ledger_.Set(sequence, record);
  }
  // What is still in flight to this consumer has no copy here any more.
  ledger_.Update(0, kNoEnd, [consumer](const SequenceRecord& record) {
    SequenceRecord changed = record;
    if (record.place == Place::kInFlight && record.consumer == consumer) {
      changed.place = Place::kDroppedOverflow;
      changed.consumer = 0;
    }
    return changed;
  });
  Settle();
}

absl::Status Group::AddCredit(StreamId id, int64_t n) {
  Stream& stream = streams_.at(id);
  if (n < 1) {
    return absl::InvalidArgumentError(base::StrCat("credit.n is ", n, ", 1 or more is needed"));
  }
  if (stream.stopped) return absl::OkStatus();
  if (n > max_credit_ - stream.credit) {
    return absl::InvalidArgumentError(base::StrCat(
        "credit.n ", n, " on a balance of ", stream.credit, " is above max_credit ", max_credit_));
  }
  stream.credit += n;
  Settle();
  return absl::OkStatus();
}

void Group::StopCredit(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  found->second.credit = 0;
  found->second.stopped = true;
  Wake(found->second);
}

void Group::StopAllCredit() {
  for (auto& [id, stream] : streams_) StopCredit(id);
}

// Frees the group's copy, and gives back the credit when it was assigned but not taken.
void Group::Release(uint64_t sequence) {
  const auto kept = kept_.find(sequence);
  if (kept == kept_.end()) return;
  const auto stream = streams_.find(kept->second.stream);
  if (stream != streams_.end() && stream->second.ready.erase(sequence) != 0) {
    if (!stream->second.stopped) ++stream->second.credit;
    Wake(stream->second);
  }
  kept_.erase(kept);
}

std::optional<Outgoing> Group::Take(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || found->second.ready.empty()) return std::nullopt;
  Stream& stream = found->second;
  const uint64_t sequence = *stream.ready.begin();
  stream.ready.erase(stream.ready.begin());
  Kept& kept = kept_.at(sequence);
  SequenceRecord record = *ledger_.Find(sequence);
  record.place = Place::kInFlight;
  record.sent = true;
  record.consumer = stream.consumer;
  ledger_.Set(sequence, record);
  return Outgoing{kept.batch, ++kept.deliveries};
}

bool Group::Idle(StreamId id) const {
  const auto found = streams_.find(id);
  return found == streams_.end() || (found->second.reserved == 0 && found->second.ready.empty());
}

// The stream with the most free credit, the longest unserved of equals.
Group::Stream* Group::StreamWithCredit(StreamId* id) {
  Stream* best = nullptr;
  for (auto& [candidate_id, candidate] : streams_) {
    if (candidate.credit < 1) continue;
    const bool better =
        best == nullptr || candidate.credit > best->credit ||
        (candidate.credit == best->credit && candidate.last_served < best->last_served);
    if (!better) continue;
    best = &candidate;
    *id = candidate_id;
  }
  return best;
}

// Batches that wait for a stream, assigned or not, and launches under way for this group.
uint64_t Group::Backlog() const {
  uint64_t backlog = ledger_.tally(Place::kRetained).batches;
  for (const auto& [id, stream] : streams_) backlog += stream.reserved;
  return backlog;
}

std::optional<StreamId> Group::Reserve() {
  StreamId id = kNobody;
  Stream* stream = StreamWithCredit(&id);
  if (stream == nullptr) return std::nullopt;
  if (Backlog() >= retain_batches_) return kNobody;
  --stream->credit;
  ++stream->reserved;
  stream->last_served = ++served_;
  return id;
}

bool Group::CanReserve() const { return HasCredit() && Backlog() < retain_batches_; }

void Group::ReturnReservation(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  --stream.reserved;
  if (!stream.stopped) ++stream.credit;
  Settle();
  Wake(stream);
}

void Group::Publish(std::optional<StreamId> reserved_by,
                    const std::shared_ptr<const FinishedBatch>& batch) {
  if (!reserved_by) {
    ledger_.Append({.place = Place::kNotOffered, .rows = batch->rows()});
    return;
  }
  if (*reserved_by == kNobody) {
    ledger_.Append({.place = Place::kDroppedSlow, .rows = batch->rows()});
    return;
  }
  const uint64_t sequence = batch->sequence();
  ledger_.Append({.place = Place::kRetained, .rows = batch->rows()});
  Kept& kept = kept_[sequence];
  kept.batch = batch;
  if (const auto found = streams_.find(*reserved_by); found != streams_.end()) {
    Stream& stream = found->second;
    --stream.reserved;
    stream.ready.insert(sequence);
    kept.stream = *reserved_by;
    Wake(stream);
  }
  Settle();
}

void Group::Settle() {
  EnforceRetention();
  AssignWaiting();
}

void Group::AssignWaiting() {
  for (auto& [sequence, kept] : kept_) {
    if (kept.stream != kNobody) continue;
    StreamId id = kNobody;
    Stream* stream = StreamWithCredit(&id);
    if (stream == nullptr) return;
    --stream->credit;
    stream->last_served = ++served_;
    stream->ready.insert(sequence);
    kept.stream = id;
    Wake(*stream);
  }
}

void Group::EnforceRetention() {
  while (kept_.size() > retain_batches_) {
    const auto waiting = std::find_if(kept_.begin(), kept_.end(), [](const auto& entry) {
      return entry.second.stream == kNobody;
    });
    if (waiting != kept_.end()) {
      SequenceRecord record = *ledger_.Find(waiting->first);
      record.place = Place::kDroppedOverflow;
      ledger_.Set(waiting->first, record);
      kept_.erase(waiting);
      continue;
    }
    // None waits: the oldest in flight loses its copy. It stays in flight in the books, and can be
    // acknowledged, but no longer be sent again.
    const auto sent = std::find_if(kept_.begin(), kept_.end(), [this](const auto& entry) {
      return ledger_.Find(entry.first)->place == Place::kInFlight;
    });
    // All are about to be sent: above the bound only by launches that were under way when a stream
    // died.
    if (sent == kept_.end()) return;
    kept_.erase(sent);
  }
}

std::vector<std::function<void()>> Group::TakeWakes() { return std::exchange(wakes_, {}); }

}  // namespace vixen::server
