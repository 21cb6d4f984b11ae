// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/env/settings.h"
#include "kernels/nn/network.h"
#include "learner/replay/n_step.h"
#include "learner/replay/rate_limiter.h"
#include "learner/replay/replay.h"
#include "market/dataset.h"
#include "vixen/v1/actor.pb.h"
#include "vixen/v1/config.pb.h"

namespace vixen::learner {

// What this run works with: the learner's configuration (effective) and what the first actor said.
// Fixed from then on.
struct Plan {
  v1::LearnerConfig config;
  kernels::Architecture architecture;
  kernels::EnvSettings environment;
  std::string environment_text;     // the actor's effective settings, textproto
  std::string environment_bytes;    // the same as in Opened
  std::string dataset_fingerprint;  // raw bytes
  std::string scaler_fingerprint;   // raw bytes
  uint64_t bars = 0;
  uint64_t launch_rows = 0;  // N·L
  uint32_t episodes = 0;     // N
  int rank = 0;              // among the learners of this policy

  bool offline() const { return config.offline_size() > 0; }
  bool curious() const { return environment.curiosity_max > 0; }
  std::vector<uint8_t> actions() const;

  NStepOptions n_step() const;
  ReplayOptions replay() const;
  // Most rows that the n-step windows of one actor hold back between launches.
  uint64_t held_rows() const;
  LimiterOptions limiter() const;

  // ε after so many inserted rows.
  float EpsilonAt(uint64_t transitions) const;
};

// FAILED_PRECONDITION naming both values when the actor's architecture differs from `network` flags
// that were given; usage errors for settings that cannot work together.
absl::StatusOr<Plan> MakePlan(const v1::LearnerConfig& config, const v1::GetInfoResponse& info,
                              bool replay_on_host = true);

// Whether the dataset is the one that the plan was made for: fingerprints, bars, and as many
// features as the network takes. FAILED_PRECONDITION naming what differs, with both values.
absl::Status CheckDataset(const Plan& plan, const market::Dataset& dataset);

// Whether another actor, or the same one restarted, does the same work: dataset, scaler,
// architecture, γ, allowed actions, carry_over, curiosity, and launches not larger than planned
// for. FAILED_PRECONDITION naming what differs, with both values.
absl::Status CheckSameWork(const Plan& plan, const v1::GetInfoResponse& info);

}  // namespace vixen::learner
