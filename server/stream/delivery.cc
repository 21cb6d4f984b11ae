// SPDX-License-Identifier: Apache-2.0
#include "server/stream/delivery.h"

#include <algorithm>
#include <type_traits>

#include "base/status_macros.h"
#include "base/str_cat.h"

namespace vixen::server {
namespace {

absl::Status CheckRanges(const std::vector<SequenceRange>& ranges) {
  const SequenceRange* before = nullptr;
  for (const SequenceRange& range : ranges) {
    if (range.first > range.last || (before != nullptr && range.first <= before->last)) {
      return absl::InvalidArgumentError(
          base::StrCat("range ", range.first, " to ", range.last, " is not ascending or overlaps"));
    }
    before = &range;
  }
  return absl::OkStatus();
}

absl::Status Unknown(StreamId id) {
  return absl::FailedPreconditionError(base::StrCat("stream ", id, " is closed"));
}

}  // namespace

template <typename Change>
auto Delivery::Locked(Change&& change) {
  std::vector<std::function<void()>> wakes;
  const auto finish = [&] {
    for (const std::function<void()>& wake : wakes) wake();
    if (on_change_) on_change_();
  };
  if constexpr (std::is_void_v<decltype(change())>) {
    {
      std::lock_guard lock(mutex_);
      change();
      wakes = CollectWakes();
    }
    finish();
  } else {
    std::unique_lock lock(mutex_);
    auto result = change();
    wakes = CollectWakes();
    lock.unlock();
    finish();
    return result;
  }
}

std::vector<std::function<void()>> Delivery::CollectWakes() {
  std::vector<std::function<void()>> wakes;
  for (auto& [name, group] : groups_) {
    for (std::function<void()>& wake : group->TakeWakes()) wakes.push_back(std::move(wake));
  }
  return wakes;
}

Group* Delivery::Find(StreamId id) const {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second;
}

absl::StatusOr<OpenedStream> Delivery::Open(ConsumerOptions options) {
  VIXEN_RETURN_IF_ERROR(CheckRanges(options.held));
  VIXEN_RETURN_IF_ERROR(CheckRanges(options.durable));
  return Locked([&]() -> absl::StatusOr<OpenedStream> {
    const auto found = groups_.find(options.group);
    options.durable =
        WithoutForgotten(std::move(options.durable),
                         found == groups_.end() ? next_sequence_ : found->second->ledger().first());
    if (found == groups_.end()) {
      if (!options.durable.empty()) {
        return absl::NotFoundError(base::StrCat("batch ", options.durable.front().first,
                                                " was never sent to group \"", options.group,
                                                "\""));
      }
      if (groups_.size() >= options_.max_groups && !ForgetOneGroup()) {
        return absl::ResourceExhaustedError(
            base::StrCat("group \"", options.group, "\" would be one more than the ",
                         options_.max_groups, " groups a policy may have"));
      }
    } else {
      if (found->second->HasConsumer(options.consumer)) {
        return absl::AlreadyExistsError(base::StrCat("consumer \"", options.consumer,
                                                     "\" of group \"", options.group,
                                                     "\" has a live stream already; give each "
                                                     "consumer of a group a name of its own"));
      }
      VIXEN_RETURN_IF_ERROR(found->second->CheckSent(options.durable));
    }
    std::shared_ptr<Group>& group = groups_[options.group];
    if (!group) {
      group = std::make_shared<Group>(options.group, next_sequence_, options_.retain_batches,
                                      options_.max_credit);
    }
    const StreamId id = ++last_stream_;
    group->Open(id, options.consumer, std::move(options.wake));
    streams_[id] = group.get();
    // Durable first: what is in a checkpoint is not lost, whatever the consumer holds in memory.
    if (!options.durable.empty()) VIXEN_RETURN_IF_ERROR(group->MarkDurable(options.durable));
    group->Reconcile(id, options.held);
    if (stopped_) group->StopCredit(id);
    return OpenedStream{id, next_sequence_, group->LostWith(id)};
  });
}

void Delivery::Close(StreamId id) {
  Locked([&] {
    Group* group = Find(id);
    if (group == nullptr) return;
    group->Close(id);
    streams_.erase(id);
  });
}

absl::Status Delivery::AddCredit(StreamId id, int64_t n) {
  return Locked([&] {
    Group* group = Find(id);
    return group == nullptr ? Unknown(id) : group->AddCredit(id, n);
  });
}

void Delivery::StopCredit(StreamId id) {
  Locked([&] {
    if (Group* group = Find(id); group != nullptr) group->StopCredit(id);
  });
}

absl::Status Delivery::Acknowledge(StreamId id, uint64_t run_id, uint64_t sequence) {
  return Locked([&]() -> absl::Status {
    Group* group = Find(id);
    if (group == nullptr) return Unknown(id);
    if (run_id != options_.run_id) {
      return absl::NotFoundError(
          base::StrCat("ack of run ", run_id, ", this is run ", options_.run_id));
    }
    return group->Acknowledge(id, sequence);
  });
}

absl::Status Delivery::MarkDurable(StreamId id, uint64_t run_id,
                                   const std::vector<SequenceRange>& ranges) {
  VIXEN_RETURN_IF_ERROR(CheckRanges(ranges));
  return Locked([&]() -> absl::Status {
    Group* group = Find(id);
    if (group == nullptr) return Unknown(id);
    if (run_id != options_.run_id) {
      return absl::NotFoundError(
          base::StrCat("durable of run ", run_id, ", this is run ", options_.run_id));
    }
    return group->MarkDurable(WithoutForgotten(ranges, group->ledger().first()));
  });
}

std::optional<Outgoing> Delivery::Take(StreamId id) {
  std::optional<Outgoing> outgoing;
  {
    // A stream takes under its own lock: no stream is woken here, only the collector told that the
    // backlog is smaller.
    std::lock_guard lock(mutex_);
    Group* group = Find(id);
    if (group != nullptr) outgoing = group->Take(id);
  }
  if (outgoing && on_change_) on_change_();
  return outgoing;
}

bool Delivery::Idle(StreamId id) const {
  std::lock_guard lock(mutex_);
  const Group* group = Find(id);
  return group == nullptr || group->Idle(id);
}

std::optional<Delivery::Ticket> Delivery::Reserve() {
  std::lock_guard lock(mutex_);
  if (stopped_ || !CanReserveLocked()) return std::nullopt;
  Ticket ticket;
  for (auto& [name, group] : groups_) {
    if (const std::optional<StreamId> id = group->Reserve()) ticket.reserved[group] = *id;
  }
  return ticket;
}

void Delivery::Publish(const Ticket& ticket, std::shared_ptr<const FinishedBatch> batch) {
  Locked([&] {
    ++next_sequence_;
    for (auto& [name, group] : groups_) {
      const auto reserved = ticket.reserved.find(group);
      group->Publish(
          reserved == ticket.reserved.end() ? std::nullopt : std::optional(reserved->second),
          batch);
    }
  });
}

void Delivery::Discard(const Ticket& ticket) {
  Locked([&] {
    for (const auto& [group, id] : ticket.reserved) group->ReturnReservation(id);
  });
}

uint64_t Delivery::next_sequence() const {
  std::lock_guard lock(mutex_);
  return next_sequence_;
}

bool Delivery::HasCredit() const {
  std::lock_guard lock(mutex_);
  for (const auto& [name, group] : groups_) {
    if (group->HasCredit()) return true;
  }
  return false;
}

bool Delivery::CanReserveLocked() const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [](const auto& entry) { return entry.second->CanReserve(); });
}

bool Delivery::CanReserve() const {
  std::lock_guard lock(mutex_);
  return CanReserveLocked();
}

size_t Delivery::streams() const {
  std::lock_guard lock(mutex_);
  return streams_.size();
}

void Delivery::StopAllCredit() {
  Locked([&] {
    stopped_ = true;
    for (auto& [name, group] : groups_) group->StopAllCredit();
  });
}

}  // namespace vixen::server
