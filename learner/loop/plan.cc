// SPDX-License-Identifier: Apache-2.0
#include "learner/loop/plan.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/cpu_count.h"
#include "base/exit_code.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "learner/options.h"
#include "proto/codec/convert.h"
#include "proto/config/config_file.h"
#include "proto/config/settings.h"

namespace vixen::learner {
namespace {

// Apart by more than any two seeds that a user would choose.
constexpr uint64_t kSeedStep = uint64_t{1} << 40;

absl::Status Differs(const std::string& what, const std::string& theirs, const std::string& ours) {
  return absl::FailedPreconditionError(
      absl::StrCat("the actor's ", what, " is ", theirs, ", this learner's is ", ours));
}

RowFault FaultOf(v1::TestingSettings::RowFault fault) {
  switch (fault) {
    case v1::TestingSettings::FAULT_WRONG_ACTION:
      return RowFault::kWrongAction;
    case v1::TestingSettings::FAULT_NO_BOOTSTRAP:
      return RowFault::kNoBootstrap;
    case v1::TestingSettings::FAULT_LOOKAHEAD:
      return RowFault::kLookahead;
    case v1::TestingSettings::FAULT_BLIND_PORTFOLIO:
      return RowFault::kBlindPortfolio;
    case v1::TestingSettings::FAULT_LATE_REWARD:
      return RowFault::kLateReward;
    case v1::TestingSettings::FAULT_NONE:
      break;
  }
  return RowFault::kNone;
}

absl::Status CheckNetworkFlags(const v1::NetworkSettings& network,
                               const kernels::Architecture& actor) {
  const auto check = [](bool given, const char* name, uint32_t ours, uint32_t theirs) {
    return !given || ours == theirs ? absl::OkStatus()
                                    : Differs(name, std::to_string(theirs), std::to_string(ours));
  };
  VIXEN_RETURN_IF_ERROR(check(network.has_hidden1(), "hidden1", network.hidden1(), actor.hidden1));
  VIXEN_RETURN_IF_ERROR(check(network.has_hidden2(), "hidden2", network.hidden2(), actor.hidden2));
  VIXEN_RETURN_IF_ERROR(check(network.has_value_hidden(), "value_hidden", network.value_hidden(),
                              actor.value_hidden));
  VIXEN_RETURN_IF_ERROR(check(network.has_advantage_hidden(), "advantage_hidden",
                              network.advantage_hidden(), actor.advantage_hidden));
  return check(network.has_curiosity_hidden(), "curiosity_hidden", network.curiosity_hidden(),
               actor.curiosity_hidden);
}

}  // namespace

std::vector<uint8_t> Plan::actions() const {
  return {environment.actions, environment.actions + environment.action_count};
}

NStepOptions Plan::n_step() const {
  NStepOptions options;
  options.n = config.replay().n_step();
  options.gamma = environment.gamma;
  options.cut_exploratory =
      config.replay().cut_exploratory() && !config.testing().plant_nstep_uncut();
  options.carry_over = environment.carry_over;
  options.reward_scale = config.testing().plant_reward_scale();
  options.stale_bootstrap = config.testing().plant_stale_bootstrap();
  options.fault = FaultOf(config.testing().plant_row_fault());
  options.bars = bars;
  options.allowed_actions = 0;
  for (uint8_t action : actions()) options.allowed_actions |= uint64_t{1} << action;
  return options;
}

ReplayOptions Plan::replay() const {
  const v1::ReplaySettings& replay = config.replay();
  return {.capacity = replay.capacity(),
          .alpha = replay.alpha(),
          .epsilon = replay.priority_epsilon(),
          .beta_start = replay.beta_start(),
          .beta_end = replay.beta_end(),
          .beta_updates = replay.beta_updates(),
          .start_at_max = replay.initial_priority() == v1::ReplaySettings::MAX_PRIORITY,
          .seed = config.trainer().train_seed() + static_cast<uint64_t>(rank) * kSeedStep};
}

uint64_t Plan::held_rows() const {
  return environment.carry_over ? uint64_t{episodes} * (config.replay().n_step() - 1) : 0;
}

LimiterOptions Plan::limiter() const {
  LimiterOptions options;
  options.min_size = config.limiter().min_size();
  options.samples_per_insert = config.limiter().samples_per_insert();
  options.window = config.limiter().limiter_window();
  options.launch_rows = launch_rows;
  // Each actor's windows wait for that actor's next launch, whichever is asked next.
  const auto actors = static_cast<uint64_t>(std::max(1, config.actor_size()));
  options.open_rows = actors * held_rows();
  options.batch = config.trainer().batch_size();
  return options;
}

float Plan::EpsilonAt(uint64_t transitions) const {
  const v1::ExplorationSettings& exploration = config.exploration();
  const double part = std::min(1.0, static_cast<double>(transitions) /
                                        static_cast<double>(exploration.epsilon_transitions()));
  return static_cast<float>(exploration.epsilon_start() +
                            part * (exploration.epsilon_end() - exploration.epsilon_start()));
}

absl::StatusOr<Plan> MakePlan(const v1::LearnerConfig& config, const v1::GetInfoResponse& info,
                              bool replay_on_host) {
  Plan plan;
  plan.config = config;
  plan.architecture = codec::FromProto(info.architecture());
  VIXEN_RETURN_IF_ERROR(plan.architecture.Check());
  VIXEN_RETURN_IF_ERROR(CheckNetworkFlags(config.network(), plan.architecture));
  VIXEN_ASSIGN_OR_RETURN(const v1::EnvironmentSettings settings,
                         config::ParseSettingsBytes(info.settings(), "the actor's settings"));
  plan.environment = config::ToEnvSettings(settings);
  plan.environment_text = config::EffectiveText(settings);
  plan.environment_bytes = info.settings();
  plan.dataset_fingerprint = info.dataset().fingerprint();
  plan.scaler_fingerprint = info.dataset().scaler_fingerprint();
  plan.bars = info.dataset().bars();
  plan.episodes = info.episodes();
  plan.launch_rows = uint64_t{info.episodes()} * info.steps();

  const uint64_t capacity = config.replay().capacity();
  if (config.limiter().min_size() > capacity) {
    return base::UsageError(absl::StrCat("min_size ", config.limiter().min_size(),
                                         " is larger than the replay's capacity ", capacity));
  }
  const bool checkpoints = MakesCheckpoints(config);
  const uint64_t needed =
      (replay_on_host ? Replay::BytesOf(capacity, plan.replay().start_at_max) : 0) +
      (checkpoints ? Replay::CutBytesOf(capacity) : 0);
  const uint64_t there = base::AvailableMemoryBytes();
  if (needed > there) {
    return base::UsageError(absl::StrCat(
        "capacity ", capacity, " needs ", needed, " bytes of memory",
        checkpoints ? " (with the copy that a checkpoint is written from)" : "", ", there are ",
        there, "; lower capacity to at most ", capacity * there / needed));
  }
  return plan;
}

absl::Status CheckDataset(const Plan& plan, const market::Dataset& dataset) {
  const auto check = [](const char* what, const std::string& theirs, const std::string& ours) {
    return theirs == ours
               ? absl::OkStatus()
               : absl::FailedPreconditionError(absl::StrCat("the actor's ", what, " is ", theirs,
                                                            ", that of the dataset is ", ours));
  };
  VIXEN_RETURN_IF_ERROR(check("dataset fingerprint",
                              absl::BytesToHexString(plan.dataset_fingerprint),
                              base::ToHex(dataset.fingerprint())));
  VIXEN_RETURN_IF_ERROR(check("scaler fingerprint", absl::BytesToHexString(plan.scaler_fingerprint),
                              base::ToHex(dataset.scaler_fingerprint())));
  VIXEN_RETURN_IF_ERROR(check("number of features", absl::StrCat(plan.architecture.features),
                              absl::StrCat(dataset.feature_count())));
  return check("number of bars", absl::StrCat(plan.bars), absl::StrCat(dataset.bars()));
}

absl::Status CheckSameWork(const Plan& plan, const v1::GetInfoResponse& info) {
  if (info.dataset().fingerprint() != plan.dataset_fingerprint) {
    return Differs("dataset fingerprint", absl::BytesToHexString(info.dataset().fingerprint()),
                   absl::BytesToHexString(plan.dataset_fingerprint));
  }
  if (info.dataset().scaler_fingerprint() != plan.scaler_fingerprint) {
    return Differs("scaler fingerprint",
                   absl::BytesToHexString(info.dataset().scaler_fingerprint()),
                   absl::BytesToHexString(plan.scaler_fingerprint));
  }
  const kernels::Architecture architecture = codec::FromProto(info.architecture());
  if (architecture != plan.architecture) {
    return Differs("architecture", architecture.Describe(), plan.architecture.Describe());
  }
  VIXEN_ASSIGN_OR_RETURN(const v1::EnvironmentSettings settings,
                         config::ParseSettingsBytes(info.settings(), "the actor's settings"));
  const kernels::EnvSettings env = config::ToEnvSettings(settings);
  const auto number = [](double x) { return absl::StrCat(x); };
  if (env.gamma != plan.environment.gamma) {
    return Differs("gamma", number(env.gamma), number(plan.environment.gamma));
  }
  const std::vector<uint8_t> actions(env.actions, env.actions + env.action_count);
  if (actions != plan.actions()) {
    return Differs("list of actions", absl::StrJoin(actions, ","),
                   absl::StrJoin(plan.actions(), ","));
  }
  if (env.carry_over != plan.environment.carry_over) {
    return Differs("carry_over", number(env.carry_over), number(plan.environment.carry_over));
  }
  if ((env.curiosity_max > 0) != plan.curious()) {
    return Differs("curiosity_max", number(env.curiosity_max),
                   number(plan.environment.curiosity_max));
  }
  const uint64_t rows = uint64_t{info.episodes()} * info.steps();
  if (rows > plan.launch_rows || info.episodes() > plan.episodes) {
    return Differs("launch (episodes·steps)", absl::StrCat(rows), absl::StrCat(plan.launch_rows));
  }
  return absl::OkStatus();
}

}  // namespace vixen::learner
