// SPDX-License-Identifier: Apache-2.0
// The consistent cut: made and taken back between two updates, by the training thread.
#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "learner/checkpoint/cut_check.h"
#include "learner/checkpoint/resume_check.h"
#include "learner/loop/learner.h"
#include "proto/codec/convert.h"
#include "proto/config/config_file.h"

namespace vixen::learner {
namespace {

uint64_t UnixNanoseconds() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count());
}

void SaveHead(const Plan& plan, v1::Checkpoint& head) {
  head.Clear();
  head.set_format(1);
  head.set_software(std::string(base::Version()));
  head.set_written_unix_ns(UnixNanoseconds());
  head.set_policy(plan.config.policy());
  head.set_group(plan.config.group());
  head.set_consumer(plan.config.consumer());
  *head.mutable_architecture() = codec::ToProto(plan.architecture);
  head.set_dataset_fingerprint(plan.dataset_fingerprint);
  head.set_scaler_fingerprint(plan.scaler_fingerprint);
  head.set_environment(plan.environment_bytes);
  head.set_configuration(config::EffectiveText(plan.config));
}

}  // namespace

absl::Status Learner::SaveCut(LearnerCut& cut) const {
  v1::Checkpoint& head = cut.head;
  SaveHead(plan_, head);
  head.set_updates(updates_);
  head.set_transitions(transitions_);
  head.set_online_version(version_[0]);
  head.set_target_version(version_[1]);
  head.set_curiosity_version(version_[2]);
  head.set_pushes(pushes_);
  head.set_limiter_inserts(limiter_.inserts());
  head.set_limiter_samples(limiter_.samples());
  VIXEN_ASSIGN_OR_RETURN(cut.trainer, updater_->SaveTrainer());
  if (curiosity_ != nullptr) {
    VIXEN_ASSIGN_OR_RETURN(cut.curiosity, curiosity_->Save());
  }
  VIXEN_RETURN_IF_ERROR(updater_->SaveReplay(cut.replay));
  v1::CheckpointReplay& replay = *head.mutable_replay();
  replay.set_capacity(updater_->capacity());
  replay.set_rows(updater_->size());
  replay.set_inserted(cut.replay.inserted);
  replay.set_sampler(cut.replay.sampler);

  cut.window_run.clear();
  cut.window_slot.clear();
  std::vector<ReplayRow> open;
  for (v1::CheckpointRun& run : book_.Save()) {
    for (const RunInput& input : inputs_) {
      if (input.builder == nullptr || input.run_id != run.sheet().run_id()) continue;
      const WindowsCut windows = input.builder->Save();
      run.set_next_launch(windows.next_launch);
      run.set_slots(windows.slots);
      cut.window_run.insert(cut.window_run.end(), windows.rows.size(),
                            static_cast<uint32_t>(head.runs_size()));
      cut.window_slot.insert(cut.window_slot.end(), windows.slot.begin(), windows.slot.end());
      open.insert(open.end(), windows.rows.begin(), windows.rows.end());
    }
    *head.add_runs() = std::move(run);
  }
  cut.window_rows.Assign(open);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<NStepBuilder>> Learner::WindowsOf(const LearnerCut& cut,
                                                                 int place) const {
  const v1::CheckpointRun& run = cut.head.runs(place);
  if (run.slots() == 0) return nullptr;
  WindowsCut windows{.next_launch = run.next_launch(), .slots = run.slots()};
  for (size_t i = 0; i < cut.window_run.size(); ++i) {
    if (cut.window_run[i] != static_cast<uint32_t>(place)) continue;
    windows.slot.push_back(cut.window_slot[i]);
    windows.rows.push_back(cut.window_rows.Row(i));
  }
  auto builder = std::make_unique<NStepBuilder>(plan_.n_step());
  VIXEN_RETURN_IF_ERROR(builder->Restore(windows));
  return builder;
}

absl::StatusOr<Learner::Windows> Learner::CheckUsable(const LearnerCut& cut) const {
  // Of another run: Resume says what differs, whatever the rows are like.
  if (!CheckResume(cut.head, "", plan_).ok()) return Windows();
  VIXEN_RETURN_IF_ERROR(CheckCut(cut, plan_.bars));
  VIXEN_RETURN_IF_ERROR(CheckCut(cut.replay, plan_.config.replay().capacity()));
  if (plan_.curious() != cut.curiosity.has_value()) {
    return absl::DataLossError("checkpoint is damaged: curiosity and curiosity_max disagree");
  }
  Windows windows;
  for (int place = 0; place < cut.head.runs_size(); ++place) {
    VIXEN_ASSIGN_OR_RETURN(windows.emplace_back(), WindowsOf(cut, place));
  }
  return windows;
}

absl::Status Learner::RestoreCut(const LearnerCut& cut, Windows windows) {
  const v1::Checkpoint& head = cut.head;
  VIXEN_RETURN_IF_ERROR(updater_->RestoreTrainer(cut.trainer));
  if (curiosity_ != nullptr) VIXEN_RETURN_IF_ERROR(curiosity_->Restore(*cut.curiosity));
  VIXEN_RETURN_IF_ERROR(updater_->RestoreReplay(cut.replay));
  v1::LearnerConfig then;
  VIXEN_RETURN_IF_ERROR(
      config::ParseConfig(head.configuration(), "the checkpoint's configuration", then).status());
  limiter_.Restore(head.limiter_inserts(), head.limiter_samples(),
                   {.min_size = then.limiter().min_size(),
                    .samples_per_insert = then.limiter().samples_per_insert()});
  updates_ = updates_at_push_ = head.updates();
  epsilon_at_push_ = -1;
  transitions_ = head.transitions();
  version_ = {head.online_version(), head.target_version(), head.curiosity_version()};
  pushes_ = head.pushes();
  book_.Restore({head.runs().begin(), head.runs().end()});

  for (int place = 0; place < head.runs_size(); ++place) {
    const v1::CheckpointRun& run = head.runs(place);
    std::unique_ptr<NStepBuilder>& builder = windows[static_cast<size_t>(place)];
    if (builder == nullptr) continue;
    RunInput* home = nullptr;
    for (RunInput& input : inputs_) {
      if (input.actor == run.sheet().actor()) home = &input;
    }
    if (home == nullptr) {
      // That actor is none of ours any more: its windows end here.
      rows_->clear();
      builder->Flush(*rows_);
      VIXEN_RETURN_IF_ERROR(InsertRows(version_[0]));
      continue;
    }
    home->run_id = run.sheet().run_id();
    home->builder = std::move(builder);
  }
  return absl::OkStatus();
}

absl::Status Learner::KeepCheckpoints() {
  if (checkpoints_ == nullptr) return absl::OkStatus();
  if (const std::optional<CheckpointWriter::Result> result = checkpoints_->TakeResult()) {
    if (const absl::Status status = CheckpointWritten(*result); !status.ok()) {
      spdlog::error("{}; training goes on, the checkpoints before are as they were",
                    status.ToString());
    }
  }
  const v1::CheckpointSettings& settings = plan_.config.checkpoint();
  const double seconds = std::chrono::duration<double>(Clock::now() - checkpointed_).count();
  // With ranks when rank 0 says so, so that all are of the same update.
  if (joint_.checkpoint && unsaved_) VIXEN_RETURN_IF_ERROR(BeginCheckpoint());
  const bool by_time =
      settings.checkpoint_seconds() > 0 && seconds >= settings.checkpoint_seconds();
  const bool by_count = settings.checkpoint_updates() > 0 &&
                        updates_ >= updates_at_checkpoint_ + settings.checkpoint_updates();
  checkpoint_due_ = unsaved_ && (by_time || by_count);
  return checkpoint_due_ && ranks_ == nullptr ? BeginCheckpoint() : absl::OkStatus();
}

absl::Status Learner::BeginCheckpoint() {
  LearnerCut* const cut = checkpoints_->Begin();
  if (cut == nullptr) return absl::OkStatus();
  const Spending spending(metrics_, Activity::kCheckpointing);
  const Clock::time_point start = Clock::now();
  VIXEN_RETURN_IF_ERROR(SaveCut(*cut));
  checkpoints_->Commit();
  checkpointed_ = Clock::now();
  updates_at_checkpoint_ = updates_;
  unsaved_ = false;
  metrics_.checkpoint_stop_seconds.Set(
      std::chrono::duration<double>(checkpointed_ - start).count());
  return absl::OkStatus();
}

absl::Status Learner::CheckpointWritten(const CheckpointWriter::Result& result) {
  (result.status.ok() ? metrics_.checkpoints_written : metrics_.checkpoints_failed).Increment();
  if (!result.status.ok()) {
    unsaved_ = true;
    return absl::Status(result.status.code(),
                        absl::StrCat("checkpoint: ", result.status.message()));
  }
  metrics_.checkpoint_bytes.Set(static_cast<double>(result.written.bytes));
  metrics_.checkpoint_write_seconds.Set(result.seconds);
  metrics_.checkpoint_time.SetToCurrentTime();
  spdlog::info("checkpoint {}: {:.1f} MB, training stopped for {:.3f} s, written in {:.2f} s",
               result.written.path, static_cast<double>(result.written.bytes) / 1e6,
               metrics_.checkpoint_stop_seconds.Value(), result.seconds);
  book_.MarkDurable(result.runs);
  for (ActorState& actor : actors_->all()) {
    const v1::RunRanges durable = book_.Durable(inputs_[actor.number].run_id);
    if (durable.ranges_size() > 0) actor.link->SendDurable(durable);
  }
  return absl::OkStatus();
}

absl::Status Learner::FinishCheckpoints() {
  if (checkpoints_ == nullptr) return absl::OkStatus();
  absl::Status status;
  if (const auto result = checkpoints_->WaitForResult()) status = CheckpointWritten(*result);
  if (!unsaved_) return status;
  VIXEN_RETURN_IF_ERROR(BeginCheckpoint());
  const auto result = checkpoints_->WaitForResult();
  return result.has_value() ? CheckpointWritten(*result) : absl::OkStatus();
}

}  // namespace vixen::learner
