// SPDX-License-Identifier: Apache-2.0
#include "learner/trainer/host_updater.h"

#include <chrono>
#include <limits>
#include <utility>

#include "base/status_macros.h"

namespace vixen::learner {
namespace {

using Clock = std::chrono::steady_clock;

class HostUpdater : public Updater {
 public:
  HostUpdater(const ReplayOptions& replay, std::unique_ptr<Trainer> trainer,
              std::span<const float> features)
      : start_at_max_(replay.start_at_max),
        replay_(replay),
        trainer_(std::move(trainer)),
        features_(features) {}

  uint64_t size() const override { return replay_.size(); }
  uint64_t capacity() const override { return replay_.capacity(); }
  uint64_t inserted() const override { return replay_.inserted(); }
  uint64_t replay_bytes() const override {
    return Replay::BytesOf(replay_.capacity(), start_at_max_);
  }
  std::pmr::memory_resource* row_memory() override { return std::pmr::get_default_resource(); }
  absl::Status Insert(std::span<const ReplayRow> rows) override {
    replay_.Insert(rows);
    return absl::OkStatus();
  }
  absl::StatusOr<double> LeastShare() override { return replay_.LeastShare(); }
  double BetaAt(uint64_t updates) const override { return replay_.BetaAt(updates); }
  const PriorityRejects& rejects() const override { return replay_.rejects(); }
  uint64_t updates() const override { return trainer_->updates(); }

  uint64_t updates_at_once() const override { return 1; }
  absl::StatusOr<UpdatesMade> Update(uint64_t most, double least_share) override;
  absl::StatusOr<uint64_t> JoinRanks(const NcclPlace& /*place*/) override {
    return absl::FailedPreconditionError("NCCL needs replay and updates on a GPU");
  }
  absl::Status AverageThroughHost() override { return absl::OkStatus(); }
  void SpoilReward(uint64_t update) override { spoiled_ = update; }
  absl::StatusOr<const Minibatch*> minibatch() override { return &trainer_->minibatch(); }
  absl::Status GatherLast(CuriosityMinibatch& out) override {
    Gather(features_, replay_, sample_, out);
    return absl::OkStatus();
  }

  absl::StatusOr<kernels::Parameters> Export(kernels::WeightsKind kind) const override {
    return trainer_->Export(kind);
  }
  absl::StatusOr<TrainerCut> SaveTrainer() const override { return trainer_->Save(); }
  absl::Status RestoreTrainer(const TrainerCut& cut) override { return trainer_->Restore(cut); }
  absl::Status SaveReplay(ReplayCut& cut) const override {
    replay_.Save(cut);
    return absl::OkStatus();
  }
  absl::Status RestoreReplay(const ReplayCut& cut) override { return replay_.Restore(cut); }

 private:
  const bool start_at_max_;
  Replay replay_;
  const std::unique_ptr<Trainer> trainer_;
  const std::span<const float> features_;
  Sample sample_;
  UpdateStatistics statistics_;
  uint64_t spoiled_ = 0;
};

absl::StatusOr<UpdatesMade> HostUpdater::Update(uint64_t /*most*/, double least_share) {
  const Clock::time_point start = Clock::now();
  Minibatch& batch = trainer_->minibatch();
  replay_.Draw(batch.rows, replay_.BetaAt(trainer_->updates()), sample_, least_share);
  Gather(features_, replay_, sample_, batch);
  if (trainer_->updates() + 1 == spoiled_)
    batch.reward[0] = std::numeric_limits<float>::quiet_NaN();
  UpdatesMade made;
  made.sampling_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  VIXEN_ASSIGN_OR_RETURN(statistics_, trainer_->Update());
  double sum = 0, squares = 0;
  for (const float weight : sample_.weight) {
    sum += weight;
    squares += static_cast<double>(weight) * weight;
  }
  made.statistics = {&statistics_, 1};
  made.effective_samples = squares > 0 ? sum * sum / (batch.rows * squares) : 0.0;
  made.priorities = replay_.Update(sample_.slot, sample_.generation, trainer_->abs_td());
  made.sample = &sample_;
  made.abs_td = trainer_->abs_td();
  made.taken_q = trainer_->taken_q();
  return made;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Updater>> MakeHostUpdater(const ReplayOptions& replay,
                                                         const TrainerOptions& trainer,
                                                         std::span<const float> features,
                                                         const kernels::Parameters& online,
                                                         const kernels::Parameters& target) {
  VIXEN_ASSIGN_OR_RETURN(std::unique_ptr<Trainer> made, Trainer::Create(trainer, online, target));
  return std::make_unique<HostUpdater>(replay, std::move(made), features);
}

}  // namespace vixen::learner
