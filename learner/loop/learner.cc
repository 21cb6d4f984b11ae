// SPDX-License-Identifier: Apache-2.0
#include "learner/loop/learner.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "learner/checkpoint/resume_check.h"
#include "learner/device/device_updater.h"
#include "learner/options.h"
#include "learner/trainer/host_updater.h"
#include "learner/trainer/initial_weights.h"

namespace vixen::learner {
namespace {

using kernels::WeightsKind;

constexpr int kUpdatesBetweenEvents = 4;  // one by one; launches of several: one
// The streams' part of the grace period: an actor ends a half-closed one after what it reserved.
constexpr std::chrono::milliseconds kStreamEnd{3000};

TrainerOptions OptionsOf(const Plan& plan, const Devices& devices, Ranks* ranks) {
  const v1::TrainerSettings& t = plan.config.trainer();
  TrainerOptions options;
  options.architecture = plan.architecture;
  options.actions = plan.actions();
  options.batch_size = t.batch_size();
  options.learning_rate = t.learning_rate();
  options.adam_epsilon = t.adam_epsilon();
  options.weight_decay = t.optimizer() == v1::TrainerSettings::ADAMW ? t.weight_decay() : 0;
  options.max_gradient_norm = t.max_gradient_norm();
  options.huber_delta = t.huber_delta();
  options.double_dqn = t.learner_double_dqn();
  options.polyak_tau = t.polyak_tau();
  options.target_period = t.target_sync() == v1::TrainerSettings::HARD ? t.target_period() : 0;
  options.frozen_target = plan.config.testing().plant_frozen_target();
  options.ascent = plan.config.testing().plant_ascent();
  options.device = devices.torch;
  options.ranks = ranks;
  return options;
}

// Where the settings leave it open, what the device does best.
DevicePrecision PrecisionOf(v1::TrainerSettings::Precision precision, int gpu) {
  switch (precision) {
    case v1::TrainerSettings::FP32:
      return DevicePrecision::kFp32;
    case v1::TrainerSettings::TF32:
      return DevicePrecision::kTf32;
    case v1::TrainerSettings::BF16:
      return DevicePrecision::kBf16;
    case v1::TrainerSettings::AUTO:
      break;
  }
  return BestDevicePrecision(gpu);
}

DeviceUpdaterOptions DeviceOptionsOf(const Plan& plan, const Devices& devices, Ranks* ranks,
                                     const kernels::Parameters& curiosity) {
  const v1::TrainerSettings& t = plan.config.trainer();
  DeviceUpdaterOptions options;
  options.gpu = *devices.gpu;
  options.precision = PrecisionOf(t.train_precision(), *devices.gpu);
  options.updates_a_graph = std::bit_floor(t.updates_a_graph());
  if (ranks == nullptr) {
    if (plan.curious() && TrainsCuriosity(plan.architecture)) {
      const v1::CuriositySettings& c = plan.config.curiosity();
      options.curiosity = {.period = static_cast<uint32_t>(c.curiosity_every()),
                           .learning_rate = c.curiosity_learning_rate(),
                           .weights = curiosity};
    }
    return options;
  }
  options.average = [ranks](std::span<float> values) {
    VIXEN_RETURN_IF_ERROR(ranks->Sum(values));
    const auto share = static_cast<float>(1.0 / static_cast<double>(ranks->size()));
    for (float& value : values) value *= share;
    return absl::OkStatus();
  };
  return options;
}

}  // namespace

Learner::Learner(const Plan& plan, std::shared_ptr<const market::Dataset> dataset,
                 RateLimiter limiter, Ranks* ranks, RunBook& book, Metrics& metrics)
    : plan_(plan),
      dataset_(std::move(dataset)),
      ranks_(ranks),
      book_(book),
      metrics_(metrics),
      limiter_(limiter) {}

absl::StatusOr<std::unique_ptr<Learner>> Learner::Create(
    const Plan& plan, std::shared_ptr<const market::Dataset> dataset, const Devices& devices,
    std::optional<StoredBatches> stored, Ranks* ranks, RunBook& book, Metrics& metrics) {
  VIXEN_ASSIGN_OR_RETURN(RateLimiter limiter, RateLimiter::Create(plan.limiter()));
  std::unique_ptr<Learner> learner(
      new Learner(plan, std::move(dataset), limiter, ranks, book, metrics));

  if (!plan.config.out().empty()) {
    VIXEN_RETURN_IF_ERROR(base::MakeFolders(plan.config.out()));
    learner->weights_path_ = absl::StrCat(plan.config.out(), "/weights.safetensors");
  }
  learner->stored_ = std::move(stored);
  if (plan.offline()) {
    learner->inputs_.push_back({.actor = "offline"});
  } else {
    for (const std::string& address : plan.config.actor()) {
      learner->inputs_.push_back({.actor = address});
    }
  }
  VIXEN_RETURN_IF_ERROR(learner->Resume(devices));
  if (ranks != nullptr) {
    VIXEN_RETURN_IF_ERROR(learner->CheckRanksAgree(devices.gpu.has_value()));
    VIXEN_RETURN_IF_ERROR(learner->CopyModelFromLeader());
    ranks->Begin();
  }
  VIXEN_ASSIGN_OR_RETURN(learner->actors_, Actors::Create(plan, book, learner->events_));
  if (MakesCheckpoints(plan.config)) {
    learner->checkpoints_ = std::make_unique<CheckpointWriter>(
        CheckpointStore(CheckpointFolder(plan.config), plan.config.checkpoint().checkpoint_keep()),
        plan.config.replay().capacity());
  }
  if (const std::string& trace = plan.config.testing().update_trace(); !trace.empty()) {
    learner->trace_.open(trace, std::ios::trunc);
  }
  metrics.replay_capacity.Set(static_cast<double>(plan.config.replay().capacity()));
  metrics.replay_bytes.Set(static_cast<double>(learner->updater_->replay_bytes()));
  spdlog::info("replay: {} rows, {} MiB; limiter: window {:.0f} samples, launch of {} rows",
               learner->updater_->capacity(), learner->updater_->replay_bytes() >> 20,
               learner->limiter_.window(), plan.launch_rows);
  return learner;
}

// The newest checkpoint, else the saved weights, else nothing.
absl::Status Learner::Resume(const Devices& devices) {
  const v1::Resume resume = plan_.config.resume();
  std::optional<CheckpointStore::Found> checkpoint;
  std::optional<PolicyFile> weights;
  if (resume != v1::RESUME_NO) {
    const CheckpointStore store(CheckpointFolder(plan_.config), 1);
    VIXEN_ASSIGN_OR_RETURN(checkpoint, store.Newest(resume == v1::RESUME_PREVIOUS_OK));
    if (!checkpoint.has_value() && !weights_path_.empty()) {
      VIXEN_ASSIGN_OR_RETURN(weights, ReadPolicyFile(weights_path_, plan_.config.policy(),
                                                     plan_.architecture, plan_.scaler_fingerprint));
    }
  }
  if (!weights_path_.empty()) {
    VIXEN_RETURN_IF_ERROR(log_.Open(absl::StrCat(plan_.config.out(), "/training.jsonl"),
                                    checkpoint.has_value() || weights.has_value()));
  }
  VIXEN_RETURN_IF_ERROR(BuildTrainers(devices, weights));
  if (checkpoint.has_value()) {
    for (const std::string& damaged : checkpoint->damaged) {
      spdlog::warn("{}; going on from an older one", damaged);
    }
    VIXEN_ASSIGN_OR_RETURN(const std::vector<std::string> changed,
                           CheckResume(checkpoint->cut.head, checkpoint->path, plan_));
    for (const std::string& change : changed) spdlog::info("changed since then: {}", change);
    VIXEN_RETURN_IF_ERROR(RestoreCut(checkpoint->cut));
    spdlog::info("resumed from {}: {} updates, {} transitions, {} rows in the replay",
                 checkpoint->path, updates_, transitions_, updater_->size());
  }
  updates_at_start_ = updates_at_checkpoint_ = updates_;
  transitions_at_start_ = transitions_;
  return absl::OkStatus();
}

absl::Status Learner::BuildTrainers(const Devices& devices,
                                    const std::optional<PolicyFile>& resumed) {
  const uint64_t seed = plan_.config.trainer().train_seed();
  kernels::Parameters online = InitialWeights(plan_.architecture, WeightsKind::kOnline, seed);
  kernels::Parameters target = online;
  target.kind = WeightsKind::kTarget;
  kernels::Parameters curiosity =
      InitialWeights(plan_.architecture, WeightsKind::kCuriosity, seed + 1);
  if (resumed.has_value()) {
    online = resumed->weights.online;
    target = resumed->weights.target;
    if (!resumed->weights.curiosity.values.empty()) curiosity = resumed->weights.curiosity;
    version_ = {resumed->weights.online_version, resumed->weights.target_version,
                resumed->weights.curiosity_version};
    updates_ = resumed->updates;
    transitions_ = resumed->transitions;
    spdlog::info("resumed from {}: {} updates, {} transitions", weights_path_, updates_,
                 transitions_);
  }
  const TrainerOptions options = OptionsOf(plan_, devices, ranks_);
  if (devices.gpu.has_value()) {
    VIXEN_ASSIGN_OR_RETURN(
        updater_, MakeDeviceUpdater(DeviceOptionsOf(plan_, devices, ranks_, curiosity),
                                    plan_.replay(), options, dataset_->features(), online, target));
  } else {
    VIXEN_ASSIGN_OR_RETURN(
        updater_, MakeHostUpdater(plan_.replay(), options, dataset_->features(), online, target));
  }
  if (updates_ > 0) {
    // From weights alone: β and the target's period go on from their count, Adam begins anew.
    VIXEN_ASSIGN_OR_RETURN(TrainerCut cut, updater_->SaveTrainer());
    cut.updates = updates_;
    VIXEN_RETURN_IF_ERROR(updater_->RestoreTrainer(cut));
  }
  rows_.emplace(updater_->row_memory());
  rows_->reserve(plan_.launch_rows + plan_.limiter().open_rows);
  curiosity_ = updater_->curiosity();
  if (plan_.curious() && curiosity_ == nullptr) {
    VIXEN_ASSIGN_OR_RETURN(curiosity_trainer_,
                           CuriosityTrainer::Create(
                               {.architecture = plan_.architecture,
                                .batch_size = plan_.config.trainer().batch_size(),
                                .learning_rate = plan_.config.curiosity().curiosity_learning_rate(),
                                .device = devices.torch,
                                .ranks = ranks_},
                               curiosity));
    curiosity_ = curiosity_trainer_.get();
  }
  return absl::OkStatus();
}

absl::Status Learner::Run(StopFlag& stop) {
  started_ = reported_ = progressed_ = saved_ = checkpointed_ = Clock::now();
  actors_->Start();
  metrics_.health().Started();
  absl::Status status = Loop(stop);
  metrics_.health().Draining();
  metrics_.draining.Set(1);
  if (status.ok() && stop.stopped()) spdlog::info("stopping: closing streams, writing weights");
  // While the streams are open: the actors hear of it.
  const absl::Status kept = status.ok() ? FinishCheckpoints() : absl::OkStatus();
  actors_->Stop(kStreamEnd);
  const absl::Status reported = Report(/*last=*/true);
  const absl::Status saved = Save();
  if (!status.ok()) return status;
  if (!kept.ok()) return kept;
  if (!reported.ok()) return reported;
  return saved;
}

absl::Status Learner::TakeTurn(const StopFlag& stop, bool may_update, bool& ended) {
  if (ranks_ == nullptr && (stop.stopped() || Done())) {
    ended = true;
    return absl::OkStatus();
  }
  const absl::Status taken = stored_.has_value() ? TakeStored(stop) : TakeEvent(may_update);
  return ranks_ == nullptr ? taken : AgreeOnTurn(taken, stop, ended);
}

absl::Status Learner::Loop(StopFlag& stop) {
  Clock::time_point last = Clock::now();
  const bool one_launch = ranks_ != nullptr || updater_->updates_at_once() > 1;
  const int updates_a_turn = one_launch ? 1 : kUpdatesBetweenEvents;
  while (true) {
    metrics_.health().Beat();
    const bool may_update = MayUpdate();
    bool ended = false;
    absl::Status status = TakeTurn(stop, may_update, ended);
    if (ended) return status;
    const Clock::time_point now = Clock::now();
    CountWaits(std::chrono::duration<double>(now - last).count(), !may_update);
    last = now;

    GrantCredit();
    for (int i = 0; i < updates_a_turn && status.ok() && MayUpdate(); ++i) {
      if (ranks_ == nullptr && Done()) break;  // ranks end their loops together

      status = UpdateSome();
    }
    if (!status.ok()) {
      VIXEN_RETURN_IF_ERROR(Recover(status));
      continue;
    }
    const uint64_t every = plan_.config.push().push_every();
    const bool due =
        every > 0 ? updates_ >= updates_at_push_ + every : batch_since_push_ && !MayUpdate();
    if (due && !stored_.has_value()) VIXEN_RETURN_IF_ERROR(PushToEveryone());
    VIXEN_RETURN_IF_ERROR(KeepCheckpoints());
    VIXEN_RETURN_IF_ERROR(Report(/*last=*/false));
  }
}

uint64_t Learner::UpdatesAllowed() const {
  if (updater_->size() == 0) return 0;
  uint64_t allowed = limiter_.BatchesAllowed();
  const v1::StopSettings& stop = plan_.config.stop();
  if (stop.max_transitions() > 0 && Transitions() >= stop.max_transitions()) {
    // The last launch is in: only what belongs to the inserted rows.
    const double left = limiter_.SamplesOwed() - static_cast<double>(limiter_.samples());
    const double batches = std::floor(left / plan_.config.trainer().batch_size());
    allowed = std::min(allowed, batches < 1.0 ? 0 : static_cast<uint64_t>(batches));
  }
  return allowed;
}

bool Learner::Done() const {
  if (stored_.has_value() && stored_->AtEnd() && OpenWindows() == 0 && !MayUpdate()) return true;
  const v1::StopSettings& stop = plan_.config.stop();
  if (stop.max_updates() > 0 && updates_ >= stop.max_updates()) return true;
  if (stop.max_transitions() > 0 && Transitions() >= stop.max_transitions() && !MayUpdate())
    return true;
  return stop.max_seconds() > 0 &&
         Clock::now() - started_ >= std::chrono::duration<double>(stop.max_seconds());
}

uint64_t Learner::UpdatesUntilNext() const {
  if (trace_.is_open()) return 1;
  uint64_t most = updater_->updates_at_once();
  // The next update whose number is `at`, counted from 1, is the last of those made together.
  const auto until = [&](uint64_t at) {
    if (at > updates_) most = std::min(most, at - updates_);
  };
  const auto every = [&](uint64_t period, uint64_t since) {
    if (period > 0) until(since + period);
  };
  until(plan_.config.stop().max_updates());
  if (const uint64_t spoiled = plan_.config.testing().plant_nan_update(); spoiled > 0) {
    until(spoiled - 1);
  }
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
  if (updates_ + 1 == plan_.config.testing().plant_nan_update()) updater_->SpoilNextReward();
  const uint64_t most = std::min(std::max<uint64_t>(UpdatesAllowed(), 1), UpdatesUntilNext());
  const uint64_t before = updater_->updates();
  const absl::StatusOr<UpdatesMade> made = updater_->Update(most, joint_.least_share);
  if (absl::IsDataLoss(made.status())) {
    CountUpdates(updater_->updates() - before);  // those before the one that failed
    return KeepFailedBatch(made.status());
  }
  if (!made.ok()) return made.status();
  const uint64_t updates = made->statistics.size();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
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
