// SPDX-License-Identifier: Apache-2.0
// The learner's parts, and what they go on from.
#include <spdlog/spdlog.h>

#include <bit>
#include <filesystem>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "learner/checkpoint/resume_check.h"
#include "learner/device/device_updater.h"
#include "learner/loop/learner.h"
#include "learner/options.h"
#include "learner/trainer/host_updater.h"
#include "learner/trainer/initial_weights.h"

namespace vixen::learner {
namespace {

using kernels::WeightsKind;

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
  options.joins_ranks = plan.config.parallel().gradient_exchange() != v1::ParallelSettings::GLOO;
  options.average = [ranks](std::span<float> values) {
    VIXEN_RETURN_IF_ERROR(ranks->Sum(values));
    const auto share = static_cast<float>(1.0 / static_cast<double>(ranks->size()));
    for (float& value : values) value *= share;
    return absl::OkStatus();
  };
  return options;
}

// Those that are written into, before anything in them is touched: a second learner would cut the
// log and remove the checkpoints of the first.
absl::StatusOr<std::vector<base::FolderLock>> HoldFolders(const v1::LearnerConfig& config) {
  std::vector<base::FolderLock> locks;
  const std::string& out = config.out();
  for (const auto& [setting, folder] :
       {std::pair("out", out),
        std::pair("checkpoint_folder", config.checkpoint().checkpoint_folder())}) {
    if (folder.empty()) continue;
    VIXEN_RETURN_IF_ERROR(base::MakeFolders(folder));
    std::error_code error;
    if (!locks.empty() && std::filesystem::equivalent(folder, out, error)) continue;
    absl::StatusOr<base::FolderLock> lock = base::FolderLock::Take(folder);
    if (!lock.ok()) {
      return absl::Status(lock.status().code(),
                          absl::StrCat(setting, ": ", lock.status().message(),
                                       "; end that one, or choose another folder"));
    }
    locks.push_back(*std::move(lock));
  }
  return locks;
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
  VIXEN_RETURN_IF_ERROR(CheckDataset(plan, *dataset));
  VIXEN_ASSIGN_OR_RETURN(RateLimiter limiter, RateLimiter::Create(plan.limiter()));
  std::unique_ptr<Learner> learner(
      new Learner(plan, std::move(dataset), limiter, ranks, book, metrics));

  VIXEN_ASSIGN_OR_RETURN(learner->folders_, HoldFolders(plan.config));
  if (!plan.config.out().empty()) {
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
    learner->launch_length_ =
        LaunchLength::WithSilence(plan.config.parallel().rank_timeout_seconds());
    VIXEN_RETURN_IF_ERROR(learner->CopyModelFromLeader());
    VIXEN_RETURN_IF_ERROR(learner->ChooseExchange());
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
  metrics.SetActions(plan.actions());
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
  Windows windows;
  if (resume != v1::RESUME_NO) {
    const CheckpointStore store(CheckpointFolder(plan_.config), 1);
    const auto check = [&](const LearnerCut& cut) -> absl::Status {
      VIXEN_ASSIGN_OR_RETURN(windows, CheckUsable(cut));
      return absl::OkStatus();
    };
    VIXEN_ASSIGN_OR_RETURN(checkpoint, store.Newest(resume == v1::RESUME_PREVIOUS_OK, check));
    if (!checkpoint.has_value() && !weights_path_.empty()) {
      VIXEN_ASSIGN_OR_RETURN(weights, ReadPolicyFile(weights_path_, plan_.config.policy(),
                                                     plan_.architecture, plan_.scaler_fingerprint));
    }
  }
  if (resume == v1::RESUME_NO && MakesCheckpoints(plan_.config)) {
    const CheckpointStore store(CheckpointFolder(plan_.config), 1);
    if (const std::vector<uint64_t> there = store.Numbers(); !there.empty()) {
      spdlog::warn("begins anew beside checkpoint {} of an earlier run; --resume goes on from it",
                   there.back());
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
    VIXEN_RETURN_IF_ERROR(RestoreCut(checkpoint->cut, std::move(windows)));
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
  updater_->SpoilReward(plan_.config.testing().plant_nan_update());
  gpu_ = devices.gpu;
  rows_.emplace(updater_->row_memory());
  // A launch, and what the windows of the actor that made it held back.
  rows_->reserve(plan_.launch_rows + plan_.held_rows());
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

}  // namespace vixen::learner
