// SPDX-License-Identifier: Apache-2.0
// Versions and pushes.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "base/status_macros.h"
#include "kernels/nn/weights_archive.h"
#include "learner/loop/learner.h"

namespace vixen::learner {

using kernels::WeightsKind;

void Learner::RaiseVersions(const v1::PolicyInfo& live) {
  version_[0] = std::max(version_[0], live.online_version());
  version_[1] = std::max(version_[1], live.target_version());
  version_[2] = std::max(version_[2], live.curiosity_version());
}

absl::StatusOr<std::shared_ptr<const WeightsPart>> Learner::NextPart(WeightsKind kind) {
  auto part = std::make_shared<WeightsPart>();
  if (kind == WeightsKind::kCuriosity) {
    VIXEN_ASSIGN_OR_RETURN(part->parameters, curiosity_->Export());
  } else {
    VIXEN_ASSIGN_OR_RETURN(part->parameters, updater_->Export(kind));
  }
  part->version = ++version_[static_cast<size_t>(kind)];
  part->epsilon = plan_.EpsilonAt(Transitions());
  part->training_step = updates_;
  Archive(*part);
  return part;
}

void Learner::Archive(const WeightsPart& part) {
  const std::string& folder = plan_.config.push().weights_archive();
  if (folder.empty()) return;
  const absl::StatusOr<std::string> archived = kernels::ArchiveWeights(
      folder, {.policy = plan_.config.policy(),
               .version = part.version,
               .scaler_fingerprint = absl::BytesToHexString(plan_.scaler_fingerprint),
               .parameters = part.parameters});
  if (!archived.ok()) {
    spdlog::error("weights_archive lacks {} version {}: {}",
                  std::string(kernels::WeightsKindName(part.parameters.kind)), part.version,
                  std::string(archived.status().message()));
  }
}

absl::Status Learner::PushAll(ActorState& actor) {
  const Spending spending(metrics_, Activity::kPushing);
  actor.ready = false;
  if (curiosity_ != nullptr) {
    VIXEN_ASSIGN_OR_RETURN(auto curiosity, NextPart(WeightsKind::kCuriosity));
    actor.pusher->Submit(std::move(curiosity));
  }
  VIXEN_ASSIGN_OR_RETURN(auto target, NextPart(WeightsKind::kTarget));
  actor.pusher->Submit(std::move(target));
  VIXEN_ASSIGN_OR_RETURN(auto online, NextPart(WeightsKind::kOnline));
  actor.required_version = online->version;
  actor.pusher->Submit(std::move(online));
  return absl::OkStatus();
}

absl::Status Learner::PushToEveryone() {
  const Spending spending(metrics_, Activity::kPushing);
  batch_since_push_ = false;
  const float epsilon = plan_.EpsilonAt(Transitions());
  // Batches may come faster than updates: the same weights need no other version.
  if (updates_ == updates_at_push_ && epsilon == epsilon_at_push_) return absl::OkStatus();
  updates_at_push_ = updates_;
  epsilon_at_push_ = epsilon;
  if (!leads()) return absl::OkStatus();
  ++pushes_;
  std::vector<std::shared_ptr<const WeightsPart>> parts(2);
  VIXEN_ASSIGN_OR_RETURN(parts[0], NextPart(WeightsKind::kOnline));
  VIXEN_ASSIGN_OR_RETURN(parts[1], NextPart(WeightsKind::kTarget));
  if (curiosity_ != nullptr && pushes_ % plan_.config.push().curiosity_push_every() == 0) {
    VIXEN_ASSIGN_OR_RETURN(parts.emplace_back(), NextPart(WeightsKind::kCuriosity));
  }
  for (ActorState& actor : actors_->all()) {
    // While disconnected nothing is sent: the next stream begins with a push of everything.
    if (actor.stream == 0) continue;
    for (const auto& part : parts) actor.pusher->Submit(part);
  }
  return absl::OkStatus();
}

}  // namespace vixen::learner
