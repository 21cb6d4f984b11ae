// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/stream/group.h"

namespace vixen::server {

struct DeliveryOptions {
  uint64_t run_id = 0;
  uint32_t retain_batches = 8;
  int64_t max_credit = 64;
  uint32_t max_groups = 64;
  // A fault for tests: sheets say one acknowledged or durable batch too few.
  bool miscount = false;
};

struct ConsumerOptions {
  std::string group;
  std::string consumer;
  std::vector<SequenceRange> held;     // of this run; ascending
  std::vector<SequenceRange> durable;  // of this run; ascending
  // Called without any lock held, from any thread, whenever the stream may have something to do.
  // May be empty.
  std::function<void()> wake;
};

struct OpenedStream {
  StreamId id = 0;
  uint64_t next_sequence = 0;
  Tally lost;  // with consumers of this name, so far
};

// The group name under which the books of forgotten groups are kept, summed: no group can be called
// so.
inline constexpr char kForgottenGroups[] = "(forgotten)";

// The books of one group at one moment. offered = durable + acknowledged + in_flight + retained +
// dropped_overflow + dropped_lost + dropped_slow.
struct Sheet {
  std::string group;
  Tally offered, durable, acknowledged, in_flight, retained;
  Tally dropped_overflow, dropped_lost, dropped_slow, not_offered;
};

// Who gets which batch of one policy, and what became of it: groups with competing consumers,
// credit, acknowledgement, resending, retention. Knows nothing of gRPC. Thread-safe; calls never
// block for long. Statuses are those of the Collect grammar (actor.proto).
//
// A policy has at most max_groups groups. When one more comes, the one that opened a stream the
// longest ago is forgotten, of those that have no stream and never made anything durable: what
// waits for it is dropped, and its books go on as part of one sum. Should it come back it begins as
// a new group: what it says to be durable of the time before is ignored.
class Delivery {
 public:
  // One launch's credit: which stream of which group pays for it; kNobody for a group that has
  // credit but is too slow to be given this batch.
  struct Ticket {
    std::map<std::shared_ptr<Group>, StreamId> reserved;
  };

  // `on_change` is called without a lock held when a launch may have become possible.
  Delivery(const DeliveryOptions& options, std::function<void()> on_change)
      : options_(options), on_change_(std::move(on_change)) {}

  absl::StatusOr<OpenedStream> Open(ConsumerOptions options);
  // Idempotent. What the stream had unsent or unacknowledged goes back to its group.
  void Close(StreamId id);

  absl::Status AddCredit(StreamId id, int64_t n);
  // No more launches for this stream: its free credit is void, what is reserved still comes.
  void StopCredit(StreamId id);
  absl::Status Acknowledge(StreamId id, uint64_t run_id, uint64_t sequence);
  absl::Status MarkDurable(StreamId id, uint64_t run_id, const std::vector<SequenceRange>& ranges);

  // The next batch to send, from then on in flight; nullopt when nothing is ready.
  std::optional<Outgoing> Take(StreamId id);
  // Nothing ready and nothing reserved: a stream that got all that it will get.
  bool Idle(StreamId id) const;

  // The collector's side. nullopt: no group can pay.
  std::optional<Ticket> Reserve();
  // `batch` has sequence next_sequence().
  void Publish(const Ticket& ticket, std::shared_ptr<const FinishedBatch> batch);
  // The launch failed: credit goes back, no sequence is used.
  void Discard(const Ticket& ticket);
  uint64_t next_sequence() const;

  bool HasCredit() const;
  // Whether Reserve would give a ticket: some group has credit and is not behind.
  bool CanReserve() const;
  size_t streams() const;
  // For draining: as StopCredit on every stream, also on those that open later.
  void StopAllCredit();
  std::vector<Sheet> Sheets() const;

 private:
  Group* Find(StreamId id) const;
  bool CanReserveLocked() const;
  // `durable` without what a group that begins at `first` cannot know: where groups were forgotten
  // it may be one of them.
  std::vector<SequenceRange> WithoutForgotten(std::vector<SequenceRange> durable,
                                              uint64_t first) const;
  // Room for one group more; false when there is none.
  bool ForgetOneGroup();
  std::vector<std::function<void()>> CollectWakes();
  // Runs `change` under the lock, then wakes whom it concerns.
  template <typename Change>
  auto Locked(Change&& change);

  const DeliveryOptions options_;
  const std::function<void()> on_change_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Group>> groups_;
  Sheet forgotten_;  // of all groups that were forgotten; named so
  std::map<StreamId, Group*> streams_;
  StreamId last_stream_ = 0;
  uint64_t next_sequence_ = 0;
  bool stopped_ = false;
};

}  // namespace vixen::server
