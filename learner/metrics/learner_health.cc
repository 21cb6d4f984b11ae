// SPDX-License-Identifier: Apache-2.0
#include "learner/metrics/learner_health.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace vixen::learner {
namespace {

double SecondsOf(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void LearnerHealth::Enter(std::string phase) {
  std::lock_guard lock(mutex_);
  phase_ = std::move(phase);
}

void LearnerHealth::Started() {
  Beat();
  std::lock_guard lock(mutex_);
  phase_ = absl::StrFormat("started in %.1f s", SecondsOf(Clock::now() - began_));
  started_ = true;
}

void LearnerHealth::Draining() {
  std::lock_guard lock(mutex_);
  draining_ = true;
}

void LearnerHealth::SetActors(size_t ready, size_t all) {
  std::lock_guard lock(mutex_);
  ready_ = ready;
  actors_ = all;
}

telemetry::ProbeAnswer LearnerHealth::Startup() const {
  std::lock_guard lock(mutex_);
  if (started_) return {true, phase_};
  return {false,
          absl::StrFormat("starting for %.1f s: %s", SecondsOf(Clock::now() - began_), phase_)};
}

telemetry::ProbeAnswer LearnerHealth::Readiness() const {
  {
    std::lock_guard lock(mutex_);
    if (started_) {
      if (draining_) return {false, "draining"};
      return {ready_ > 0 || actors_ == 0, absl::StrCat(ready_, " of ", actors_, " actors ready")};
    }
  }
  return Startup();
}

telemetry::ProbeAnswer LearnerHealth::Liveness() const {
  std::lock_guard lock(mutex_);
  if (!started_ || draining_) return {true, "live"};
  const Clock::duration since = Clock::now() - Clock::time_point(Clock::duration(beat_));
  if (since <= kLongestTurn) return {true, "live"};
  return {false, absl::StrFormat("the training loop has not turned for %.0f s", SecondsOf(since))};
}

}  // namespace vixen::learner
