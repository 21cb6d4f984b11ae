// SPDX-License-Identifier: Apache-2.0
#include "learner/checkpoint/resume_check.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/codec/convert.h"
#include "proto/config/config_file.h"
#include "proto/config/leaf.h"
#include "proto/config/settings.h"
#include "proto/config/value_text.h"

namespace vixen::learner {
namespace {

using google::protobuf::Message;

constexpr std::array<std::string_view, 10> kFixed = {
    "policy",           "group",  "consumer",        "capacity",  "alpha",
    "priority_epsilon", "n_step", "cut_exploratory", "optimizer", "train_seed"};
// Of the actor's settings: how much a launch holds, not what a row means.
constexpr std::array<std::string_view, 3> kLaunchShape = {"preset", "episodes", "steps"};

struct Difference {
  std::string name, before, now;
};

std::vector<Difference> Differences(const Message& before, const Message& now) {
  std::vector<Difference> differences;
  for (const config::Leaf& leaf : config::LeavesOf(*now.GetDescriptor())) {
    Difference difference{leaf.name(), config::ValuesText(before, leaf),
                          config::ValuesText(now, leaf)};
    if (difference.before != difference.now) differences.push_back(std::move(difference));
  }
  return differences;
}

template <size_t N>
bool In(const std::array<std::string_view, N>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

absl::Status Refuse(const std::string& path, const std::string& what, const std::string& before,
                    const std::string& now) {
  return absl::FailedPreconditionError(
      absl::StrCat("checkpoint ", path, " has ", what, " ", before, ", this run has ", now,
                   "; run as before, or begin anew in another out folder"));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> CheckResume(const v1::Checkpoint& head,
                                                     const std::string& path, const Plan& plan) {
  const kernels::Architecture before = codec::FromProto(head.architecture());
  if (before != plan.architecture) {
    return Refuse(path, "architecture", before.Describe(), plan.architecture.Describe());
  }
  if (head.dataset_fingerprint() != plan.dataset_fingerprint) {
    return Refuse(path, "dataset fingerprint", absl::BytesToHexString(head.dataset_fingerprint()),
                  absl::BytesToHexString(plan.dataset_fingerprint));
  }
  if (head.scaler_fingerprint() != plan.scaler_fingerprint) {
    return Refuse(path, "scaler fingerprint", absl::BytesToHexString(head.scaler_fingerprint()),
                  absl::BytesToHexString(plan.scaler_fingerprint));
  }
  std::vector<std::string> changed;
  VIXEN_ASSIGN_OR_RETURN(const v1::EnvironmentSettings environment,
                         config::ParseSettingsBytes(head.environment(), path));
  VIXEN_ASSIGN_OR_RETURN(
      const v1::EnvironmentSettings environment_now,
      config::ParseSettingsBytes(plan.environment_bytes, "the actor's settings"));
  v1::LearnerConfig configuration;
  VIXEN_RETURN_IF_ERROR(config::ParseConfig(head.configuration(), path, configuration).status());
  const auto note = [&](const Difference& difference) {
    changed.push_back(absl::StrCat(difference.name, " ", difference.before, " → ", difference.now));
  };
  for (const Difference& difference : Differences(environment, environment_now)) {
    if (!In(kLaunchShape, difference.name)) {
      return Refuse(path, absl::StrCat("the actor's ", difference.name), difference.before,
                    difference.now);
    }
    note(difference);
  }
  for (const Difference& difference : Differences(configuration, plan.config)) {
    if (difference.name == "resume") continue;
    if (In(kFixed, difference.name)) {
      return Refuse(path, difference.name, difference.before, difference.now);
    }
    note(difference);
  }
  return changed;
}

}  // namespace vixen::learner
