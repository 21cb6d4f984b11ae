// SPDX-License-Identifier: Apache-2.0
#include "learner/client/run_book.h"

#include <iterator>

namespace vixen::learner {
namespace {

void AddTo(v1::Amount& amount, uint64_t batches, uint64_t rows) {
  amount.set_batches(amount.batches() + batches);
  amount.set_rows(amount.rows() + rows);
}

}  // namespace

bool SequenceSet::Contains(uint64_t sequence) const {
  const auto after = ranges_.upper_bound(sequence);
  return after != ranges_.begin() && std::prev(after)->second >= sequence;
}

bool SequenceSet::Insert(uint64_t sequence) {
  if (Contains(sequence)) return false;
  uint64_t last = sequence;
  const auto after = ranges_.upper_bound(sequence);
  if (after != ranges_.end() && after->first == sequence + 1) {
    last = after->second;
    ranges_.erase(after);
  }
  const auto next = ranges_.upper_bound(sequence);
  if (next != ranges_.begin() && std::prev(next)->second + 1 == sequence) {
    std::prev(next)->second = last;
  } else {
    ranges_[sequence] = last;
  }
  return true;
}

void RunBook::RunOpened(const std::string& actor, uint64_t run_id) {
  std::lock_guard lock(mutex_);
  for (auto& [id, run] : runs_) {
    if (run.sheet.actor() == actor && id != run_id) run.sheet.set_ended(true);
  }
  v1::LearnerSheet& sheet = runs_[run_id].sheet;
  sheet.set_run_id(run_id);
  sheet.set_actor(actor);
  sheet.set_policy(policy_);
  sheet.set_group(group_);
  sheet.set_ended(false);
}

bool RunBook::Receive(uint64_t run_id, uint64_t sequence, uint64_t rows) {
  std::lock_guard lock(mutex_);
  Run& run = runs_[run_id];
  AddTo(*run.sheet.mutable_received(), 1, rows);
  if (run.sequences.Insert(sequence)) return true;
  AddTo(*run.sheet.mutable_duplicate(), 1, rows);
  return false;
}

void RunBook::Inserted(uint64_t run_id, uint64_t rows,
                       const std::map<std::string, uint64_t>& rejected) {
  std::lock_guard lock(mutex_);
  v1::LearnerSheet& sheet = runs_[run_id].sheet;
  uint64_t refused = 0;
  for (const auto& [reason, count] : rejected) refused += count;
  const bool none_taken = rows == 0 && refused > 0;
  AddTo(*sheet.mutable_inserted(), none_taken ? 0 : 1, rows);
  uint64_t batches = none_taken ? 1 : 0;
  for (const auto& [reason, count] : rejected) {
    if (count == 0) continue;
    AddTo((*sheet.mutable_rejected())[reason], batches, count);
    batches = 0;
  }
}

std::vector<v1::RunRanges> RunBook::Held(const std::string& actor) const {
  std::lock_guard lock(mutex_);
  std::vector<v1::RunRanges> held;
  for (const auto& [id, run] : runs_) {
    if (run.sheet.actor() != actor || run.sheet.ended() || run.sequences.ranges().empty()) continue;
    v1::RunRanges& ranges = held.emplace_back();
    ranges.set_run_id(id);
    for (const auto& [first, last] : run.sequences.ranges()) {
      v1::SequenceRange& range = *ranges.add_ranges();
      range.set_first(first);
      range.set_last(last);
    }
  }
  return held;
}

std::vector<v1::LearnerSheet> RunBook::Sheets() const {
  std::lock_guard lock(mutex_);
  std::vector<v1::LearnerSheet> sheets;
  for (const auto& [id, run] : runs_) sheets.push_back(run.sheet);
  return sheets;
}

}  // namespace vixen::learner
