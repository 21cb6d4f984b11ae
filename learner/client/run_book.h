// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "vixen/v1/actor.pb.h"
#include "vixen/v1/checkpoint.pb.h"
#include "vixen/v1/learner.pb.h"

namespace vixen::learner {

// A set of sequence numbers as disjoint ranges [first, last]. Mostly one range: O(log ranges).
class SequenceSet {
 public:
  // False when it was there.
  bool Insert(uint64_t sequence);
  // Beyond, and not next to, all that is there.
  void InsertRange(uint64_t first, uint64_t last);
  bool Contains(uint64_t sequence) const;
  const std::map<uint64_t, uint64_t>& ranges() const { return ranges_; }

 private:
  std::map<uint64_t, uint64_t> ranges_;  // first → last
};

// The learner's books: for each run of each actor, received = inserted + duplicate + Σ rejected, in
// batches and valid rows. Runs that ended with their actor are kept. A row that waits for its
// n-step window counts as inserted: the learner holds it. Thread-safe (the training thread writes,
// metrics and streams read).
class RunBook {
 public:
  RunBook(std::string policy, std::string group)
      : policy_(std::move(policy)), group_(std::move(group)) {}

  // A stream to `actor` opened in `run_id`: other runs of that actor have ended. `lost`: what the
  // actor says that earlier processes of this consumer had acknowledged and this one does not hold.
  void RunOpened(const std::string& actor, uint64_t run_id, const v1::Amount& lost = {});

  bool Holds(uint64_t run_id, uint64_t sequence) const;
  // True when (run_id, sequence) is new and its rows are to be inserted: it is booked by Inserted,
  // so that the sheet balances also while the insert is under way. Else it counts as duplicate.
  bool Receive(uint64_t run_id, uint64_t sequence, uint64_t rows);
  // After the insert: of the received rows, how many were taken and how many were not, by reason.
  // The batch counts as inserted unless no row was.
  void Inserted(uint64_t run_id, uint64_t rows, const std::map<std::string, uint64_t>& rejected);

  // What this consumer has of a run, for `open`; and what of it is in a checkpoint.
  v1::RunRanges Held(uint64_t run_id) const;
  v1::RunRanges Durable(uint64_t run_id) const;

  // For a checkpoint: every run with its sheet, as it will be once the checkpoint is written (all
  // that is inserted is durable), and its sequences.
  std::vector<v1::CheckpointRun> Save() const;
  // The runs of a checkpoint on disk, into an empty book or one that has gone on since. What they
  // list is durable from now on.
  void MarkDurable(const std::vector<v1::CheckpointRun>& runs);
  void Restore(const std::vector<v1::CheckpointRun>& runs);
  std::vector<v1::LearnerSheet> Sheets() const;

 private:
  struct Run {
    v1::LearnerSheet sheet;
    SequenceSet sequences;
    v1::RunRanges durable;
  };

  const std::string policy_, group_;
  mutable std::mutex mutex_;
  std::map<uint64_t, Run> runs_;  // by run id
};

}  // namespace vixen::learner
