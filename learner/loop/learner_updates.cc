// SPDX-License-Identifier: Apache-2.0
// Updates: how many may be made, and what follows from them.
#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "absl/strings/str_cat.h"
#include "base/crc32c.h"
#include "base/status_macros.h"
#include "learner/loop/learner.h"

namespace vixen::learner {

uint64_t Learner::UpdatesAllowed() const {
  if (updater_->size() == 0) return 0;
  uint64_t allowed = limiter_.BatchesAllowed();
  if (AllInserted() || (ranks_ == nullptr && stored_.has_value())) {
    // Only what belongs to the inserted rows: the last launch is in, or recorded ones come when
    // they are asked for, so that nothing is gained by running ahead of them. (A rank whose files
    // are fewer keeps the window, to go along with the others.)
    const double left = limiter_.SamplesOwed() - static_cast<double>(limiter_.samples());
    const double batches = std::floor(left / plan_.config.trainer().batch_size());
    allowed = std::min(allowed, batches < 1.0 ? 0 : static_cast<uint64_t>(batches));
  }
  return allowed;
}

uint64_t Learner::UpdatesUntilNext() const {
  if (trace_.is_open()) return 1;
  uint64_t most = std::min(updater_->updates_at_once(), launch_length_.Most());
  // The next update whose number is `at`, counted from 1, is the last of those made together.
  const auto until = [&](uint64_t at) {
    if (at > updates_) most = std::min(most, at - updates_);
  };
  const auto every = [&](uint64_t period, uint64_t since) {
    if (period > 0) until(since + period);
  };
  until(plan_.config.stop().max_updates());
  every(plan_.config.push().push_every(), updates_at_push_);
  if (checkpoints_ != nullptr) {
    every(plan_.config.checkpoint().checkpoint_updates(), updates_at_checkpoint_);
  }
  if (curiosity_trainer_ != nullptr) {
    const uint64_t period = plan_.config.curiosity().curiosity_every();
    every(period, updates_ / period * period);
  }
  return most;
}

void Learner::CountUpdates(uint64_t updates) {
  const uint64_t rows = updates * plan_.config.trainer().batch_size();
  limiter_.Sampled(rows);
  updates_ += updates;
  unsaved_ = unsaved_ || updates > 0;
  metrics_.updates.Increment(static_cast<double>(updates));
  metrics_.samples.Increment(static_cast<double>(rows));
}

absl::Status Learner::UpdateSome() {
  const Clock::time_point start = Clock::now();
  const uint64_t most = ranks_ == nullptr
                            ? std::min(std::max<uint64_t>(UpdatesAllowed(), 1), UpdatesUntilNext())
                            : joint_.updates;
  const uint64_t before = updater_->updates();
  const absl::StatusOr<UpdatesMade> made = updater_->Update(most, joint_.least_share);
  if (!made.ok()) {
    CountUpdates(updater_->updates() - before);  // those before the one that failed
    return absl::IsDataLoss(made.status()) ? KeepFailedBatch(made.status()) : made.status();
  }
  const uint64_t updates = made->statistics.size();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  launch_length_.Made(updates, seconds);
  metrics_.Spent(Activity::kSampling, made->sampling_seconds);
  metrics_.Spent(Activity::kUpdating, seconds - made->sampling_seconds);
  for (uint64_t i = 0; i < updates; ++i) {
    metrics_.update_seconds.Observe(seconds / static_cast<double>(updates));
  }
  CountUpdates(updates);
  NotStarved();  // also where each batch allows just one update, and the next waits again
  if (trace_.is_open()) VIXEN_RETURN_IF_ERROR(Trace(*made));
  Observe(*made);
  if (made->priorities.stale > 0) {
    metrics_.stale_priority_updates.Increment(static_cast<double>(made->priorities.stale));
  }
  window_.curiosity_loss += made->curiosity_loss;
  window_.curiosity_updates += made->curiosity_updates;
  if (curiosity_trainer_ != nullptr && updates_ % plan_.config.curiosity().curiosity_every() == 0) {
    const Spending spending(metrics_, Activity::kUpdating);
    return UpdateCuriosity();
  }
  return absl::OkStatus();
}

absl::Status Learner::Trace(const UpdatesMade& made) {
  const Sample& sample = *made.sample;
  const uint32_t rows =
      base::ExtendCrc32c(base::Crc32c(std::as_bytes(std::span<const uint32_t>(sample.slot))),
                         std::as_bytes(std::span<const uint64_t>(sample.generation)));
  trace_ << updates_ << ' ' << rows << ' ' << std::bit_cast<uint64_t>(made.statistics[0].loss)
         << '\n'
         << std::flush;
  if (trace_) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot write ", plan_.config.testing().update_trace()));
}

absl::Status Learner::UpdateCuriosity() {
  // The rows of the update just made: a second draw would shift the sequence of samples.
  VIXEN_RETURN_IF_ERROR(updater_->GatherLast(curiosity_trainer_->minibatch()));
  VIXEN_ASSIGN_OR_RETURN(const double loss, curiosity_trainer_->Update());
  window_.curiosity_loss += loss;
  ++window_.curiosity_updates;
  return absl::OkStatus();
}

}  // namespace vixen::learner
