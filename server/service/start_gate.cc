// SPDX-License-Identifier: Apache-2.0
#include "server/service/start_gate.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "base/str_cat.h"

namespace vixen::server {

void StartGate::Enter(std::string phase) {
  std::lock_guard lock(mutex_);
  phase_ = std::move(phase);
  entered_ = Clock::now();
}

std::string StartGate::Text() const {
  const auto seconds = [](Clock::duration time) {
    return std::chrono::duration<double>(time).count();
  };
  std::lock_guard lock(mutex_);
  if (state() != nullptr) return absl::StrFormat("started in %.1f s", seconds(entered_ - began_));
  return absl::StrFormat("starting for %.1f s: %s", seconds(Clock::now() - began_), phase_);
}

absl::Status StartGate::NotYet() const {
  return absl::UnavailableError(base::StrCat("the actor is ", Text()));
}

}  // namespace vixen::server
