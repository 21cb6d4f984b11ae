// SPDX-License-Identifier: Apache-2.0
// The books of a policy's groups, also of those that were forgotten.
#include <algorithm>

#include "server/stream/delivery.h"

namespace vixen::server {
namespace {

Sheet SheetOf(const Group& group) {
  const SequenceLedger& ledger = group.ledger();
  return {.group = group.name(),
          .offered = ledger.offered(),
          .durable = ledger.tally(Place::kDurable),
          .acknowledged = ledger.tally(Place::kAcknowledged),
          .in_flight = ledger.tally(Place::kInFlight),
          .retained = ledger.tally(Place::kRetained),
          .dropped_overflow = ledger.tally(Place::kDroppedOverflow),
          .dropped_lost = ledger.tally(Place::kDroppedLost),
          .dropped_slow = ledger.tally(Place::kDroppedSlow),
          .not_offered = ledger.tally(Place::kNotOffered)};
}

void Add(const Tally& more, Tally& sum) {
  sum.batches += more.batches;
  sum.rows += more.rows;
}

}  // namespace

bool Delivery::ForgetOneGroup() {
  auto oldest = groups_.end();
  for (auto group = groups_.begin(); group != groups_.end(); ++group) {
    const Group& candidate = *group->second;
    if (candidate.has_streams() || candidate.ledger().tally(Place::kDurable).batches > 0) continue;
    if (oldest == groups_.end() || candidate.last_opened() < oldest->second->last_opened()) {
      oldest = group;
    }
  }
  if (oldest == groups_.end()) return false;
  const Sheet sheet = SheetOf(*oldest->second);
  forgotten_.group = kForgottenGroups;
  for (Tally Sheet::*field : {&Sheet::offered, &Sheet::acknowledged, &Sheet::dropped_overflow,
                              &Sheet::dropped_lost, &Sheet::dropped_slow, &Sheet::not_offered}) {
    Add(sheet.*field, forgotten_.*field);
  }
  Add(sheet.retained, forgotten_.dropped_overflow);
  groups_.erase(oldest);
  return true;
}

std::vector<SequenceRange> Delivery::WithoutForgotten(std::vector<SequenceRange> durable,
                                                      uint64_t first) const {
  if (forgotten_.group.empty()) return durable;
  std::erase_if(durable, [first](const SequenceRange& range) { return range.last < first; });
  if (!durable.empty()) durable.front().first = std::max(durable.front().first, first);
  return durable;
}

std::vector<Sheet> Delivery::Sheets() const {
  std::lock_guard lock(mutex_);
  std::vector<Sheet> sheets;
  for (const auto& [name, group] : groups_) sheets.push_back(SheetOf(*group));
  if (!forgotten_.group.empty()) sheets.push_back(forgotten_);
  if (options_.miscount) {
    for (Sheet& sheet : sheets) {
      if (sheet.acknowledged.batches > 0) {
        --sheet.acknowledged.batches;
      } else if (sheet.durable.batches > 0) {
        --sheet.durable.batches;
      }
    }
  }
  return sheets;
}

}  // namespace vixen::server
