// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/folder.h"
#include "learner/checkpoint/checkpoint_writer.h"
#include "learner/client/backoff.h"
#include "learner/client/event.h"
#include "learner/client/run_book.h"
#include "learner/curiosity/curiosity_trainer.h"
#include "learner/loop/actors.h"
#include "learner/loop/launch_length.h"
#include "learner/loop/plan.h"
#include "learner/loop/stored_batches.h"
#include "learner/loop/training_log.h"
#include "learner/metrics/metrics.h"
#include "learner/parallel/ranks.h"
#include "learner/replay/n_step.h"
#include "learner/replay/rate_limiter.h"
#include "learner/replay/row_ages.h"
#include "learner/trainer/device.h"
#include "learner/trainer/updater.h"
#include "learner/weights/policy_file.h"
#include "market/dataset.h"

namespace vixen::learner {

// Where rows come from: an actor's present run, or a run of recorded batches.
struct RunInput {
  std::string actor;  // address, or "offline"
  uint64_t run_id = 0;
  std::unique_ptr<NStepBuilder> builder;  // null before the first run
};

// The training thread: receive → insert → acknowledge and grant credit → update while the limiter
// allows → push → log. Everything but Metrics and the client's threads belongs to it.
class Learner {
 public:
  // Builds all parts on `devices` (SetUpDevices), and goes on from a checkpoint or from saved
  // weights when asked to. `stored`: recorded batches in place of actors. `ranks`: the learners
  // that train this policy together; none: alone. With ranks a collective call: FAILED_PRECONDITION
  // when they disagree; rank 0's model is everyone's then. `plan`, `ranks`, `book` and `metrics`
  // must outlive the learner.
  static absl::StatusOr<std::unique_ptr<Learner>> Create(
      const Plan& plan, std::shared_ptr<const market::Dataset> dataset, const Devices& devices,
      std::optional<StoredBatches> stored, Ranks* ranks, RunBook& book, Metrics& metrics);
  // Ends the process, exit code 1, where the updater is held (Updater::Held).
  ~Learner();

  // Until a stop condition, `stop`, or an error. The last good weights and the log are written in
  // each case, and the streams closed.
  absl::Status Run(StopFlag& stop);

 private:
  using Clock = std::chrono::steady_clock;

  Learner(const Plan& plan, std::shared_ptr<const market::Dataset> dataset, RateLimiter limiter,
          Ranks* ranks, RunBook& book, Metrics& metrics);
  absl::Status Resume(const Devices& devices);
  absl::Status BuildTrainers(const Devices& devices, const std::optional<PolicyFile>& resumed);

  absl::Status Loop(StopFlag& stop);
  // What comes in, and with ranks what they agree on. `ended` when the loop is to end.
  absl::Status TakeTurn(const StopFlag& stop, bool may_update, bool& ended);

  // Ranks (learner_ranks.cc).
  bool leads() const { return ranks_ == nullptr || ranks_->leads(); }
  absl::Status CheckRanksAgree(bool on_gpu);
  // Rank 0's weights, optimiser and count of updates, everywhere.
  absl::Status CopyModelFromLeader();
  // Gradients on the GPUs where the setting and every rank allow it, else through the host.
  absl::Status ChooseExchange();
  // The survivors become the members, with rank 0's model.
  absl::Status GoOnWith(const Ranks::Survivors& survivors);
  // One exchange: `joint_`, and whether the loop is to end. `taken` other than OK: the others hear
  // of it, and it comes back.
  absl::Status AgreeOnTurn(const absl::Status& taken, const StopFlag& stop, bool& ended);
  // The members less those that say good-bye: the end, or on with the rest.
  absl::Status PartFrom(const std::vector<int>& gone, bool failed, bool& ended);
  // After an error of an exchange: on with the rest where that is wanted and possible, also where
  // more are lost while they join anew.
  absl::Status Recover(const absl::Status& error);
  absl::Status TakeEvent(bool may_sample);
  // The next recorded batch when the limiter has room for it.
  absl::Status TakeStored(const StopFlag& stop);
  // What a checkpoint holds of the recorded batches: before the first turn, so that the next batch,
  // or the end, comes when it came before.
  absl::Status PassOverHeld(const StopFlag& stop);
  absl::Status Handle(Event& event);
  absl::Status HandleOpened(StreamOpened& opened);
  absl::Status HandleBatch(BatchArrived& arrived);
  void HandleEnded(const StreamEnded& ended);

  // What the rows of `input` belong to from now on; windows of the run before are closed.
  absl::Status BeginRun(RunInput& input, uint64_t run_id);
  // `version` of the online weights that made them.
  absl::Status InsertRows(uint64_t version);
  // Of a batch that the book has received.
  absl::Status Insert(RunInput& input, const v1::BatchHeader& header, const kernels::Batch& batch);
  size_t OpenWindows() const;

  // Updates that limiter and stop conditions leave room for.
  uint64_t UpdatesAllowed() const;
  bool MaySample() const { return UpdatesAllowed() > 0; }
  // With ranks: all of them may.
  bool MayUpdate() const { return ranks_ == nullptr ? MaySample() : joint_.updates > 0; }
  // Rows inserted by all ranks.
  uint64_t Transitions() const { return ranks_ == nullptr ? transitions_ : joint_.transitions; }
  // max_transitions are.
  bool AllInserted() const;
  bool Done() const;
  // The most updates until something is to happen between two of them.
  uint64_t UpdatesUntilNext() const;
  void CountUpdates(uint64_t updates);
  absl::Status UpdateSome();
  absl::Status UpdateCuriosity();
  void GrantCredit();
  absl::Status Trace(const UpdatesMade& made);
  // What updates say beside their statistics: distributions, ages, importance weights; of the last
  // of them.
  void Observe(const UpdatesMade& made);
  // The minibatch of the update that failed, for inspection; `error` with the file's name.
  absl::Status KeepFailedBatch(const absl::Status& error) const;
  // Demand of the actors over what this learner can do, both when they need not wait.
  double LearnersNeeded(double window_seconds);
  void SetGauges(const LogState& state);

  // Checkpoints (learner_checkpoint.cc).
  absl::Status SaveCut(LearnerCut& cut) const;
  // Open windows of the run at `place`; null where it has none.
  absl::StatusOr<std::unique_ptr<NStepBuilder>> WindowsOf(const LearnerCut& cut, int place) const;
  // Of all runs, by their place, where a cut that was read whole holds what may be gone on from;
  // none of a cut that CheckResume refuses, whatever it holds.
  using Windows = std::vector<std::unique_ptr<NStepBuilder>>;
  absl::StatusOr<Windows> CheckUsable(const LearnerCut& cut) const;
  absl::Status RestoreCut(const LearnerCut& cut, Windows windows);
  // Begins a checkpoint when one is due and would hold anything new, and tells the actors of one
  // that was written.
  absl::Status KeepCheckpoints();
  // Waits for the checkpoint under way, and writes the last one when it would hold anything new.
  absl::Status FinishCheckpoints();
  absl::Status BeginCheckpoint();
  absl::Status CheckpointWritten(const CheckpointWriter::Result& result);

  // Versions rise above those live on an actor; then our weights go there.
  void RaiseVersions(const v1::PolicyInfo& live);
  absl::Status PushAll(ActorState& actor);
  absl::Status PushToEveryone();
  absl::StatusOr<std::shared_ptr<const WeightsPart>> NextPart(kernels::WeightsKind kind);
  void Archive(const WeightsPart& part);

  void CountWaits(double seconds, bool starved);
  void NotStarved();
  absl::Status Report(bool last);
  void ReportActors();
  absl::Status Save();
  LogState StateNow() const;
  double EtaSeconds(double seconds) const;
  void ShowProgress(const LogState& state, bool last);

  const Plan& plan_;
  const std::shared_ptr<const market::Dataset> dataset_;
  Ranks* const ranks_;  // null: alone
  RunBook& book_;
  Metrics& metrics_;

  EventQueue events_{16};
  RateLimiter limiter_;
  std::unique_ptr<Updater> updater_;
  std::optional<int> gpu_;     // of the updater
  bool sums_on_gpus_ = false;  // gradients: by NCCL, or tried
  LaunchLength launch_length_;
  // Null when curiosity_max is 0, or when the updater trains the model.
  std::unique_ptr<CuriosityTrainer> curiosity_trainer_;
  Curiosity* curiosity_ = nullptr;  // the model, of either; null when curiosity_max is 0
  std::unique_ptr<Actors> actors_;
  std::vector<RunInput> inputs_;  // by actor, or one for recorded batches
  std::optional<StoredBatches> stored_;
  bool passed_over_held_ = false;
  std::unique_ptr<CheckpointWriter> checkpoints_;  // null: none are made
  RowAges ages_;
  std::optional<RowList> rows_;  // scratch of inserts, in the updater's memory
  TrainingLog log_;
  std::vector<base::FolderLock> folders_;
  std::string weights_path_;
  std::ofstream trace_;

  // What the ranks agreed on last.
  struct Joint {
    uint64_t updates = 0;  // that all may make now
    bool checkpoint = false;
    double least_share = 0;
    uint64_t transitions = 0;
  };
  Joint joint_;

  uint64_t transitions_ = 0;           // inserted rows, over resumes
  uint64_t updates_ = 0;               // over resumes
  std::array<uint64_t, 3> version_{};  // newest of each kind
  uint64_t pushes_ = 0;
  uint64_t updates_at_push_ = 0;
  float epsilon_at_push_ = -1;  // −1: none since the weights were restored
  bool batch_since_push_ = false;
  PriorityRejects rejects_seen_;

  LogWindow window_, progress_window_;
  Clock::time_point started_, reported_, progressed_, saved_, checkpointed_;
  uint64_t updates_at_checkpoint_ = 0;  // of the one begun last
  bool checkpoint_due_ = false;
  bool unsaved_ = false;  // something that no checkpoint holds or is about to hold
  double learner_wait_ = 0, actor_wait_ = 0;  // seconds
  double learner_wait_reported_ = 0, actor_wait_reported_ = 0;
  double starved_for_ = 0;  // seconds without a break
  double next_warning_ = 5;
  uint64_t transitions_at_start_ = 0, updates_at_start_ = 0;
};

}  // namespace vixen::learner
