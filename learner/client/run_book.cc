// SPDX-License-Identifier: Apache-2.0
#include "learner/client/run_book.h"

#include <iterator>

namespace vixen::learner {
namespace {

void AddTo(v1::Amount& amount, uint64_t batches, uint64_t rows) {
  amount.set_batches(amount.batches() + batches);
  amount.set_rows(amount.rows() + rows);
}

void AddRanges(const SequenceSet& sequences,
               google::protobuf::RepeatedPtrField<v1::SequenceRange>& ranges) {
  for (const auto& [first, last] : sequences.ranges()) {
    v1::SequenceRange& range = *ranges.Add();
    range.set_first(first);
    range.set_last(last);
  }
}

}  // namespace

void SequenceSet::InsertRange(uint64_t first, uint64_t last) { ranges_[first] = last; }

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

void RunBook::RunOpened(const std::string& actor, uint64_t run_id, const v1::Amount& lost) {
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
  if (lost.batches() > 0) *sheet.mutable_lost_with_predecessor() = lost;
}

bool RunBook::Holds(uint64_t run_id, uint64_t sequence) const {
  std::lock_guard lock(mutex_);
  const auto run = runs_.find(run_id);
  return run != runs_.end() && run->second.sequences.Contains(sequence);
}

bool RunBook::Receive(uint64_t run_id, uint64_t sequence, uint64_t rows) {
  std::lock_guard lock(mutex_);
  Run& run = runs_[run_id];
  if (run.sequences.Insert(sequence)) return true;
  AddTo(*run.sheet.mutable_received(), 1, rows);
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
  AddTo(*sheet.mutable_received(), 1, rows + refused);
  AddTo(*sheet.mutable_inserted(), none_taken ? 0 : 1, rows);
  uint64_t batches = none_taken ? 1 : 0;
  for (const auto& [reason, count] : rejected) {
    if (count == 0) continue;
    AddTo((*sheet.mutable_rejected())[reason], batches, count);
    batches = 0;
  }
}

v1::RunRanges RunBook::Held(uint64_t run_id) const {
  std::lock_guard lock(mutex_);
  v1::RunRanges held;
  held.set_run_id(run_id);
  if (const auto run = runs_.find(run_id); run != runs_.end()) {
    AddRanges(run->second.sequences, *held.mutable_ranges());
  }
  return held;
}

v1::RunRanges RunBook::Durable(uint64_t run_id) const {
  std::lock_guard lock(mutex_);
  v1::RunRanges durable;
  if (const auto run = runs_.find(run_id); run != runs_.end()) durable = run->second.durable;
  durable.set_run_id(run_id);
  return durable;
}

std::vector<v1::CheckpointRun> RunBook::Save() const {
  std::lock_guard lock(mutex_);
  std::vector<v1::CheckpointRun> runs;
  for (const auto& [id, run] : runs_) {
    v1::CheckpointRun& saved = runs.emplace_back();
    *saved.mutable_sheet() = run.sheet;
    *saved.mutable_sheet()->mutable_durable() = run.sheet.inserted();
    AddRanges(run.sequences, *saved.mutable_sequences());
  }
  return runs;
}

void RunBook::MarkDurable(const std::vector<v1::CheckpointRun>& runs) {
  std::lock_guard lock(mutex_);
  for (const v1::CheckpointRun& saved : runs) {
    Run& run = runs_[saved.sheet().run_id()];
    *run.sheet.mutable_durable() = saved.sheet().durable();
    run.durable.set_run_id(saved.sheet().run_id());
    *run.durable.mutable_ranges() = saved.sequences();
  }
}

void RunBook::Restore(const std::vector<v1::CheckpointRun>& runs) {
  {
    std::lock_guard lock(mutex_);
    for (const v1::CheckpointRun& saved : runs) {
      Run& run = runs_[saved.sheet().run_id()];
      run.sheet = saved.sheet();
      for (const v1::SequenceRange& range : saved.sequences()) {
        run.sequences.InsertRange(range.first(), range.last());
      }
    }
  }
  MarkDurable(runs);
}

std::vector<v1::LearnerSheet> RunBook::Sheets() const {
  std::lock_guard lock(mutex_);
  std::vector<v1::LearnerSheet> sheets;
  for (const auto& [id, run] : runs_) sheets.push_back(run.sheet);
  return sheets;
}

}  // namespace vixen::learner
