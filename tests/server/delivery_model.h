// SPDX-License-Identifier: Apache-2.0
// The delivery rules once more, as plainly as possible: one struct a batch and group, whole scans,
// no runs, no tallies carried along. The property test compares Delivery with it after every
// operation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/stream/delivery.h"

namespace vixen::server {

class ModelGroup {
 public:
  struct Item {
    uint64_t sequence;
    uint64_t rows;
    Place place;
    bool sent = false;
    std::string consumer;  // in flight to, acknowledged by
    bool copy = false;
    StreamId stream = 0;  // assigned to
  };
  struct Stream {
    StreamId id;
    std::string consumer;
    int64_t credit = 0;
    int reserved = 0;
    bool stopped = false;
    uint64_t served = 0;
  };

  ModelGroup(uint32_t retain, int64_t max_credit) : retain_(retain), max_credit_(max_credit) {}

  std::vector<Item> items;
  std::vector<Stream> streams;

  Stream* Find(StreamId id) {
    for (Stream& stream : streams) {
      if (stream.id == id) return &stream;
    }
    return nullptr;
  }
  Item* At(uint64_t sequence) {
    for (Item& item : items) {
      if (item.sequence == sequence) return &item;
    }
    return nullptr;
  }

  void Open(StreamId id, const std::string& consumer, const std::vector<SequenceRange>& held) {
    streams.push_back({id, consumer});
    const auto listed = [&](uint64_t sequence) {
      return std::any_of(held.begin(), held.end(), [&](const SequenceRange& range) {
        return range.first <= sequence && sequence <= range.last;
      });
    };
    for (Item& item : items) {
      if (listed(item.sequence)) {
        const bool unacknowledged = item.place == Place::kRetained ||
                                    (item.place == Place::kInFlight && item.copy) ||
                                    item.place == Place::kDroppedOverflow;
        if (unacknowledged && item.sent) SetAcknowledged(item, consumer);
      } else if (item.place == Place::kAcknowledged && item.consumer == consumer) {
        item.place = Place::kDroppedLost;
      }
    }
    Settle();
  }

  void Close(StreamId id) {
    const std::string consumer = Find(id)->consumer;
    streams.erase(std::find_if(streams.begin(), streams.end(),
                               [&](const Stream& stream) { return stream.id == id; }));
    for (Item& item : items) {
      if (item.copy && item.stream == id) {
        item.place = Place::kRetained;
        item.stream = 0;
      } else if (item.place == Place::kInFlight && item.consumer == consumer) {
        item.place = Place::kDroppedOverflow;
      }
    }
    Settle();
  }

  bool Credit(StreamId id, int64_t n) {
    Stream* stream = Find(id);
    if (n < 1) return false;
    if (stream->stopped) return true;
    if (stream->credit + n > max_credit_) return false;
    stream->credit += n;
    Settle();
    return true;
  }

  void Stop(StreamId id) {
    Find(id)->credit = 0;
    Find(id)->stopped = true;
  }

  bool Acknowledge(StreamId id, uint64_t sequence) {
    Item* item = At(sequence);
    if (item == nullptr || !item->sent) return false;
    if (item->place == Place::kRetained || item->place == Place::kInFlight ||
        item->place == Place::kDroppedOverflow) {
      SetAcknowledged(*item, Find(id)->consumer);
      Settle();
    }
    return true;
  }

  bool WasSent(const SequenceRange& range) {
    for (uint64_t sequence = range.first; sequence <= range.last; ++sequence) {
      if (At(sequence) == nullptr || !At(sequence)->sent) return false;
    }
    return true;
  }

  bool Durable(const SequenceRange& range) {
    if (!WasSent(range)) return false;
    for (uint64_t sequence = range.first; sequence <= range.last; ++sequence) {
      Item& item = *At(sequence);
      if (item.place == Place::kDroppedLost) continue;
      Refund(item);
      item.copy = false;
      item.place = Place::kDurable;
    }
    Settle();
    return true;
  }

  std::optional<uint64_t> Take(StreamId id) {
    for (Item& item : items) {
      if (item.place != Place::kRetained || item.stream != id) continue;
      item.place = Place::kInFlight;
      item.sent = true;
      item.consumer = Find(id)->consumer;
      return item.sequence;
    }
    return std::nullopt;
  }

  bool CanReserve() { return Richest() != nullptr && Backlog() < retain_; }

  // As Group::Reserve: nullopt without credit, kNobody when too much waits.
  std::optional<StreamId> Reserve() {
    Stream* best = Richest();
    if (best == nullptr) return std::nullopt;
    if (Backlog() >= retain_) return kNobody;
    Pay(*best);
    ++best->reserved;
    return best->id;
  }

  uint64_t Backlog() const {
    uint64_t backlog = 0;
    for (const Item& item : items) backlog += item.place == Place::kRetained ? 1 : 0;
    for (const Stream& stream : streams) backlog += static_cast<uint64_t>(stream.reserved);
    return backlog;
  }

  void Return(StreamId id) {
    Stream* stream = Find(id);
    if (stream == nullptr) return;
    --stream->reserved;
    if (!stream->stopped) ++stream->credit;
    Settle();
  }

  void Publish(std::optional<StreamId> reserved_by, uint64_t sequence, uint64_t rows) {
    Item item{sequence, rows, Place::kNotOffered};
    if (reserved_by == kNobody) {
      item.place = Place::kDroppedSlow;
    } else if (reserved_by) {
      item.place = Place::kRetained;
      item.copy = true;
      if (Stream* stream = Find(*reserved_by); stream != nullptr) {
        --stream->reserved;
        item.stream = stream->id;
      }
    }
    items.push_back(item);
    if (item.copy) Settle();
  }

  Tally Count(Place place) const {
    Tally tally;
    for (const Item& item : items) {
      if (item.place != place) continue;
      ++tally.batches;
      tally.rows += item.rows;
    }
    return tally;
  }
  uint64_t Copies() const {
    return static_cast<uint64_t>(
        std::count_if(items.begin(), items.end(), [](const Item& item) { return item.copy; }));
  }

 private:
  Stream* Richest() {
    Stream* best = nullptr;
    for (Stream& stream : streams) {
      if (stream.credit < 1) continue;
      if (best == nullptr || stream.credit > best->credit ||
          (stream.credit == best->credit && stream.served < best->served)) {
        best = &stream;
      }
    }
    return best;
  }
  void Pay(Stream& stream) {
    --stream.credit;
    stream.served = ++served_;
  }
  void Refund(Item& item) {
    if (item.place != Place::kRetained || item.stream == 0) return;
    Stream* stream = Find(item.stream);
    if (!stream->stopped) ++stream->credit;
  }
  void SetAcknowledged(Item& item, const std::string& consumer) {
    Refund(item);
    item.copy = false;
    item.place = Place::kAcknowledged;
    item.consumer = consumer;
  }
  // Retention, then credit for what waits: oldest first, both.
  void Settle() {
    while (Copies() > retain_) {
      Item* victim = nullptr;
      for (Item& item : items) {
        if (victim == nullptr && item.place == Place::kRetained && item.stream == 0) victim = &item;
      }
      if (victim != nullptr) {
        victim->place = Place::kDroppedOverflow;
        victim->copy = false;
        continue;
      }
      for (Item& item : items) {
        if (victim == nullptr && item.place == Place::kInFlight && item.copy) victim = &item;
      }
      if (victim == nullptr) break;
      victim->copy = false;
    }
    for (Item& item : items) {
      if (item.place != Place::kRetained || item.stream != 0) continue;
      Stream* stream = Richest();
      if (stream == nullptr) return;
      Pay(*stream);
      item.stream = stream->id;
    }
  }

  uint64_t retain_;
  int64_t max_credit_;
  uint64_t served_ = 0;
};

}  // namespace vixen::server
