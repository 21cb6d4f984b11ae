// SPDX-License-Identifier: Apache-2.0
// What the learner tells and keeps while it trains: waits, log lines, progress, weights on disk.
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/status_macros.h"
#include "learner/loop/learner.h"
#include "proto/config/config_file.h"

namespace vixen::learner {
namespace {

using kernels::WeightsKind;

constexpr double kLogSeconds = 1.0;
constexpr double kWarnSeconds = 30.0;

// A full disk, or one that is away for a while, ends no training.
void GoOnWithout(const absl::Status& written) {
  if (!written.ok()) spdlog::error("{}; training goes on", written.ToString());
}

double Since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

}  // namespace

void Learner::CountWaits(double seconds, bool starved) {
  if (starved) {
    learner_wait_ += seconds;
    starved_for_ += seconds;
    metrics_.learner_waits.Increment(seconds);
  }
  const bool held_back = actors_->any_ready() && actors_->outstanding() == 0;
  metrics_.learner_blocked.Set(starved ? 1 : 0);
  metrics_.actor_blocked.Set(held_back ? 1 : 0);
  if (held_back) {
    actor_wait_ += seconds;
    metrics_.actor_waits.Increment(seconds);
  }
  if (starved_for_ < next_warning_) return;
  next_warning_ = starved_for_ + kWarnSeconds;
  spdlog::warn(
      "no update for {:.0f} s: the limiter waits for inserts (error {:.0f} of window {:.0f} "
      "samples, "
      "{} rows inserted, min_size {}); {} launches asked for, {} of {} actors ready",
      starved_for_, limiter_.error(), limiter_.window(), limiter_.inserts(),
      plan_.config.limiter().min_size(), actors_->outstanding(),
      std::count_if(actors_->all().begin(), actors_->all().end(),
                    [](const ActorState& actor) { return actor.ready; }),
      actors_->all().size());
}

void Learner::NotStarved() {
  starved_for_ = 0;
  next_warning_ = 5;
}

double Learner::EtaSeconds(double seconds) const {
  const v1::StopSettings& stop = plan_.config.stop();
  double least = -1;
  const auto consider = [&](double eta) {
    if (eta >= 0 && (least < 0 || eta < least)) least = eta;
  };
  const auto by_count = [&](uint64_t end, uint64_t now, uint64_t start) {
    if (end == 0 || now <= start) return;
    const double rate = static_cast<double>(now - start) / seconds;
    consider(now >= end ? 0.0 : static_cast<double>(end - now) / rate);
  };
  by_count(stop.max_updates(), updates_, updates_at_start_);
  by_count(stop.max_transitions(), Transitions(), transitions_at_start_);
  if (stop.max_seconds() > 0) consider(std::max(0.0, stop.max_seconds() - seconds));
  return least;
}

LogState Learner::StateNow() const {
  LogState state;
  state.seconds = Since(started_);
  state.transitions = Transitions();
  state.updates = updates_;
  state.epsilon = plan_.EpsilonAt(Transitions());
  state.beta = updater_->BetaAt(updates_);
  state.online_version = version_[static_cast<size_t>(WeightsKind::kOnline)];
  state.replay_rows = updater_->size();
  state.limiter_error = limiter_.error();
  state.learner_wait_seconds = learner_wait_;
  state.actor_wait_seconds = actor_wait_;
  state.eta_seconds = EtaSeconds(state.seconds);
  return state;
}

absl::Status Learner::Report(bool last) {
  const double window_seconds = Since(reported_);
  if (!last && window_seconds < kLogSeconds) return absl::OkStatus();
  const Spending spending(metrics_, Activity::kReporting);
  ReportActors();
  LogState state = StateNow();
  state.learners_needed = LearnersNeeded(window_seconds);
  absl::Status logged;
  if (!plan_.config.out().empty()) logged = log_.Write(state, window_, window_seconds);
  SetGauges(state);
  const PriorityRejects& rejects = updater_->rejects();
  metrics_.priority_rejects[0]->Increment(static_cast<double>(rejects.nan - rejects_seen_.nan));
  metrics_.priority_rejects[1]->Increment(
      static_cast<double>(rejects.positive_infinity - rejects_seen_.positive_infinity));
  metrics_.priority_rejects[2]->Increment(
      static_cast<double>(rejects.negative_infinity - rejects_seen_.negative_infinity));
  metrics_.priority_rejects[3]->Increment(
      static_cast<double>(rejects.negative - rejects_seen_.negative));
  rejects_seen_ = rejects;
  window_ = LogWindow();
  reported_ = Clock::now();
  ShowProgress(state, last);
  if (last) return logged;
  GoOnWithout(logged);
  if (Since(saved_) >= plan_.config.save_seconds()) GoOnWithout(Save());
  return absl::OkStatus();
}

void Learner::ReportActors() {
  if (stored_.has_value()) return;
  size_t connected = 0;
  size_t ready = 0;
  for (const ActorState& actor : actors_->all()) {
    connected += actor.stream != 0 ? 1 : 0;
    ready += actor.ready ? 1 : 0;
  }
  metrics_.SetActors(actors_->all().size(), connected, ready);
}

void Learner::ShowProgress(const LogState& state, bool last) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  if (!terminal && !plan_.config.progress()) return;
  const double seconds = Since(progressed_);
  if (!terminal && !last && seconds < 5.0) return;
  const std::string line = ProgressLine(state, progress_window_, seconds);
  if (terminal) {
    std::fprintf(stderr, "\r\033[K%s%s", line.c_str(), last ? "\n" : "");
  } else {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  std::fflush(stderr);
  progress_window_ = LogWindow();
  progressed_ = Clock::now();
}

absl::Status Learner::Save() {
  saved_ = Clock::now();
  if (weights_path_.empty()) return absl::OkStatus();
  PolicyFile file;
  VIXEN_ASSIGN_OR_RETURN(file.weights.online, updater_->Export(WeightsKind::kOnline));
  VIXEN_ASSIGN_OR_RETURN(file.weights.target, updater_->Export(WeightsKind::kTarget));
  if (curiosity_ != nullptr) {
    VIXEN_ASSIGN_OR_RETURN(file.weights.curiosity, curiosity_->Export());
  }
  file.weights.online_version = version_[0];
  file.weights.target_version = version_[1];
  file.weights.curiosity_version = version_[2];
  file.policy = plan_.config.policy();
  file.updates = updates_;
  file.transitions = Transitions();
  file.scaler_fingerprint = plan_.scaler_fingerprint;
  file.dataset_fingerprint = plan_.dataset_fingerprint;
  file.settings = config::EffectiveText(plan_.config);
  file.environment = plan_.environment_text;
  return WritePolicyFile(weights_path_, file);
}

}  // namespace vixen::learner
