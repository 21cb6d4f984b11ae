// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/stream/finished_batch.h"
#include "server/stream/sequence_ledger.h"

namespace vixen::server {

using StreamId = uint64_t;
inline constexpr StreamId kNobody = 0;

struct SequenceRange {
  uint64_t first = 0;
  uint64_t last = 0;
};

// A batch on its way to one stream.
struct Outgoing {
  std::shared_ptr<const FinishedBatch> batch;
  uint32_t delivery = 1;
};

// Competing consumers: each batch that the group is offered goes to one of its streams. Every
// change of a batch's place goes through here, so the ledger is exact at every moment. Not
// thread-safe: Delivery holds the lock, and calls the streams' `wake` afterwards.
class Group {
 public:
  Group(std::string name, uint64_t first_sequence, uint32_t retain_batches, int64_t max_credit)
      : name_(std::move(name)),
        ledger_(first_sequence),
        retain_batches_(retain_batches),
        max_credit_(max_credit) {}

  const std::string& name() const { return name_; }
  const SequenceLedger& ledger() const { return ledger_; }
  bool has_streams() const { return !streams_.empty(); }
  // The newest stream that it ever had.
  StreamId last_opened() const { return last_opened_; }
  bool HasConsumer(const std::string& consumer) const;
  bool HasCredit() const;

  void Open(StreamId id, const std::string& consumer, std::function<void()> wake);
  // What a returning consumer holds; to be called once, after Open.
  void Reconcile(StreamId id, const std::vector<SequenceRange>& held);
  // What was lost with consumers of this stream's name, all of their openings together.
  Tally LostWith(StreamId id) const;
  void Close(StreamId id);

  absl::Status AddCredit(StreamId id, int64_t n);
  void StopCredit(StreamId id);
  void StopAllCredit();
  absl::Status Acknowledge(StreamId id, uint64_t sequence);
  // All or nothing.
  absl::Status MarkDurable(const std::vector<SequenceRange>& ranges);
  // NOT_FOUND naming the first range that holds a sequence never sent.
  absl::Status CheckSent(const std::vector<SequenceRange>& ranges) const;

  std::optional<Outgoing> Take(StreamId id);
  bool Idle(StreamId id) const;

  // One credit of some stream for the launch that begins. nullopt: there is no credit. kNobody:
  // there is, but so much waits already that another batch would be above retain_batches.
  std::optional<StreamId> Reserve();
  // Whether Reserve would find a stream.
  bool CanReserve() const;
  void ReturnReservation(StreamId id);
  // `reserved_by` as Reserve answered when the launch began.
  void Publish(std::optional<StreamId> reserved_by,
               const std::shared_ptr<const FinishedBatch>& batch);

  // Streams that have something to do since the last call.
  std::vector<std::function<void()>> TakeWakes();

 private:
  struct Stream {
    uint32_t consumer = 0;
    int64_t credit = 0;     // free
    uint32_t reserved = 0;  // for launches under way
    bool stopped = false;   // takes no more credit
    uint64_t last_served = 0;
    std::set<uint64_t> ready;  // assigned, not yet taken
    std::function<void()> wake;
  };
  // A batch whose memory the group holds.
  struct Kept {
    std::shared_ptr<const FinishedBatch> batch;
    uint32_t deliveries = 0;
    StreamId stream = kNobody;  // assigned to or in flight on; kNobody: waiting for the group
  };

  uint32_t ConsumerIndex(const std::string& consumer);
  Stream* StreamWithCredit(StreamId* id);
  // After every change: retain_batches, then credit for what waits, the oldest first in both.
  void Settle();
  void AssignWaiting();
  void EnforceRetention();
  void SetAcknowledged(uint64_t sequence, uint32_t consumer);
  void Release(uint64_t sequence);
  void Wake(Stream& stream) {
    if (stream.wake) wakes_.push_back(stream.wake);
  }
  uint64_t Backlog() const;

  std::string name_;
  SequenceLedger ledger_;
  uint32_t retain_batches_;
  int64_t max_credit_;
  std::map<StreamId, Stream> streams_;
  std::map<std::string, uint32_t> consumers_;  // every name ever seen → 1, 2, …
  std::map<uint32_t, Tally> lost_;             // by consumer: the parts of kDroppedLost
  std::map<uint64_t, Kept> kept_;
  uint64_t served_ = 0;
  StreamId last_opened_ = kNobody;
  std::vector<std::function<void()>> wakes_;
};

}  // namespace vixen::server
