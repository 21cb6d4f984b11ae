// SPDX-License-Identifier: Apache-2.0
#include "server/collector/policy.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "base/str_cat.h"
#include "proto/config/config_check.h"
#include "proto/config/settings.h"

namespace vixen::server {

Policy::Policy(const Run& run, std::string policy_name, PolicyMetrics policy_metrics,
               std::function<void()> on_change)
    : name(std::move(policy_name)),
      run_seed(config::RunSeed(run.execution, run.run_id, name)),
      metrics(policy_metrics),
      delivery({.run_id = run.run_id,
                .retain_batches = run.limits.retain_batches(),
                .max_credit = run.limits.max_credit(),
                .max_groups = run.limits.max_streams(),
                .miscount = run.miscount},
               std::move(on_change)),
      weights(run) {}

std::string Policy::WaitingFor() const {
  const std::string missing = weights.Missing();
  if (!missing.empty()) return base::StrCat("weights: ", missing);
  if (!delivery.HasCredit()) return "credit";
  return delivery.CanReserve() ? "" : "consumers";
}

absl::Status CheckName(std::string_view what, std::string_view name) {
  if (config::IsName(std::string(name))) return absl::OkStatus();
  std::string shown(name.substr(0, 64));
  for (char& c : shown) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = '?';
  }
  return absl::InvalidArgumentError(
      base::StrCat(what, " \"", shown, "\" is not a name of 1 to 64 of A-Z a-z 0-9 . _ -"));
}

std::shared_ptr<Policy> Policies::Find(const std::string& name) const {
  std::lock_guard lock(mutex_);
  const auto found = policies_.find(name);
  return found == policies_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<Policy>> Policies::All() const {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Policy>> all;
  for (const auto& [name, policy] : policies_) {
    if (policy->weights.any() || policy->delivery.streams() != 0) all.push_back(policy);
  }
  return all;
}

// A policy that nobody else refers to and that never had weights has no books: it is forgotten.
void Policies::RemoveUnusedLocked() {
  std::erase_if(policies_, [](const auto& entry) {
    return entry.second.use_count() == 1 && !entry.second->weights.any();
  });
}

absl::StatusOr<std::shared_ptr<Policy>> Policies::FindOrAdd(const std::string& name) {
  std::lock_guard lock(mutex_);
  const auto found = policies_.find(name);
  if (found != policies_.end()) return found->second;
  const size_t most = size_t{run_.limits.max_policies()} + run_.limits.max_streams();
  if (policies_.size() >= most) RemoveUnusedLocked();
  if (policies_.size() >= most) {
    return absl::ResourceExhaustedError(base::StrCat("policy \"", name,
                                                     "\" would be one more than the ", most,
                                                     " that max_policies and max_streams allow"));
  }
  auto policy = std::make_shared<Policy>(run_, name, metrics_.ForPolicy(name), on_change_);
  if (stopped_) policy->delivery.StopAllCredit();
  policies_[name] = policy;
  return policy;
}

absl::Status Policies::CheckRoomForWeights(const std::string& name) const {
  std::lock_guard lock(mutex_);
  uint32_t others = 0;
  for (const auto& [other, policy] : policies_) {
    if (other != name && policy->weights.any()) ++others;
  }
  if (others < run_.limits.max_policies()) return absl::OkStatus();
  return absl::ResourceExhaustedError(base::StrCat(
      "policy \"", name, "\" would be one more than max_policies ", run_.limits.max_policies()));
}

void Policies::StopAllCredit() {
  std::vector<std::shared_ptr<Policy>> all;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    for (const auto& [name, policy] : policies_) all.push_back(policy);
  }
  for (const std::shared_ptr<Policy>& policy : all) policy->delivery.StopAllCredit();
}

}  // namespace vixen::server
