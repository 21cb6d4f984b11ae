// SPDX-License-Identifier: Apache-2.0
#include "server/weights/policy_weights.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "base/tensor_file.h"
#include "proto/codec/convert.h"

namespace vixen::server {
namespace {

size_t IndexOf(v1::WeightsKind kind) { return static_cast<size_t>(kind) - 1; }

std::string_view NameOf(size_t index) {
  return kernels::WeightsKindName(static_cast<kernels::WeightsKind>(index));
}

}  // namespace

absl::StatusOr<bool> PolicyWeights::AlreadyLiveLocked(const v1::WeightsHeader& header) const {
  const size_t index = IndexOf(header.kind());
  const std::optional<LiveWeights>& live = slots_[index].live;
  if (!live || header.version() > live->header.version()) return false;
  if (header.version() < live->header.version()) {
    return absl::AbortedError(
        base::StrCat(NameOf(index), " version ", header.version(), " of policy \"", header.policy(),
                     "\" is older than the live version ", live->header.version()));
  }
  if (header.sha256() != live->header.sha256()) {
    return absl::AbortedError(base::StrCat(
        NameOf(index), " version ", header.version(), " of policy \"", header.policy(),
        "\" is live with SHA-256 ", absl::BytesToHexString(live->header.sha256()), ", pushed with ",
        absl::BytesToHexString(header.sha256()), "; push a newer version"));
  }
  return true;
}

absl::Status PolicyWeights::CheckVersion(const v1::WeightsHeader& header) const {
  std::lock_guard lock(mutex_);
  return AlreadyLiveLocked(header).status();
}

// A failed staging leaves rubbish in the inactive buffer: what was staged there before and not yet
// swapped in is staged again.
void PolicyWeights::RestoreStaged(kernels::Collector& collector, kernels::WeightsKind kind) {
  const Slot& slot = slots_[static_cast<size_t>(kind)];
  if (slot.committed) return;
  const std::string& image = *slot.live->image;
  const auto restored = [&]() -> absl::Status {
    VIXEN_ASSIGN_OR_RETURN(
        const base::TensorFile file,
        base::TensorFile::Parse(std::as_bytes(std::span<const char>(image)), "live weights"));
    VIXEN_ASSIGN_OR_RETURN(const kernels::Parameters parameters,
                           kernels::ReadParameters(file, "", run_.collector.architecture, kind));
    return collector.StageWeights(parameters).status();
  }();
  if (!restored.ok()) {
    spdlog::error("cannot stage {} version {} again: {}",
                  std::string(kernels::WeightsKindName(kind)), slot.live->header.version(),
                  std::string(restored.message()));
  }
}

absl::StatusOr<v1::PushWeightsResponse> PolicyWeights::Stage(
    const v1::WeightsHeader& header, const kernels::Parameters& parameters,
    std::shared_ptr<const std::string> image) {
  std::lock_guard stage_lock(stage_mutex_);
  Slot& slot = slots_[IndexOf(header.kind())];
  std::unique_ptr<kernels::Collector> made;
  {
    std::lock_guard lock(mutex_);
    VIXEN_ASSIGN_OR_RETURN(const bool already_live, AlreadyLiveLocked(header));
    if (already_live) {
      if (header.has_epsilon()) epsilon_ = header.epsilon();
      v1::PushWeightsResponse answer = slot.answer;
      answer.set_already_live(true);
      answer.set_epsilon(epsilon_);
      return answer;
    }
  }
  if (!collector_) {
    VIXEN_ASSIGN_OR_RETURN(made, run_.make_collector(run_.collector));
  }
  kernels::Collector& collector = made ? *made : *collector_;
  absl::StatusOr<kernels::WeightsProbe> probe = collector.StageWeights(parameters);
  if (probe.ok() && std::string(probe->sha256.begin(), probe->sha256.end()) != header.sha256()) {
    probe = absl::InternalError(base::StrCat("the executor holds SHA-256 ",
                                             base::ToHex(probe->sha256), " after loading ",
                                             absl::BytesToHexString(header.sha256())));
  }
  if (!probe.ok()) {
    if (!made) RestoreStaged(collector, parameters.kind);
    return probe.status();
  }

  v1::PushWeightsResponse answer;
  answer.set_live_version(header.version());
  answer.mutable_probe()->Add(probe->values.begin(), probe->values.end());
  answer.set_precision(codec::ToProto(probe->precision));
  answer.set_sha256(header.sha256());

  std::lock_guard lock(mutex_);
  if (made) collector_ = std::move(made);
  if (!slot.committed) ++skipped_;
  slot.committed = false;
  slot.live = LiveWeights{header, std::move(image)};
  if (header.has_epsilon()) epsilon_ = header.epsilon();
  answer.set_epsilon(epsilon_);
  slot.answer = answer;
  return answer;
}

absl::StatusOr<v1::PushWeightsResponse> PolicyWeights::SetEpsilon(float epsilon) {
  std::lock_guard lock(mutex_);
  if (!collector_) {
    return absl::FailedPreconditionError(
        "this policy has no weights yet; push weights before changing epsilon alone");
  }
  epsilon_ = epsilon;
  v1::PushWeightsResponse answer;
  answer.set_epsilon(epsilon);
  return answer;
}

std::optional<LiveWeights> PolicyWeights::Live(kernels::WeightsKind kind) const {
  std::lock_guard lock(mutex_);
  return slots_[static_cast<size_t>(kind)].live;
}

uint64_t PolicyWeights::LiveVersion(kernels::WeightsKind kind) const {
  std::lock_guard lock(mutex_);
  const Slot& slot = slots_[static_cast<size_t>(kind)];
  return slot.live ? slot.live->header.version() : 0;
}

float PolicyWeights::epsilon() const {
  std::lock_guard lock(mutex_);
  return epsilon_;
}

uint64_t PolicyWeights::skipped() const {
  std::lock_guard lock(mutex_);
  return skipped_;
}

bool PolicyWeights::any() const {
  std::lock_guard lock(mutex_);
  return collector_ != nullptr;
}

std::string PolicyWeights::Missing() const {
  std::lock_guard lock(mutex_);
  std::string missing;
  for (size_t index = 0; index < kWeightsKinds; ++index) {
    const bool needed = index != static_cast<size_t>(kernels::WeightsKind::kCuriosity) ||
                        run_.collector.settings.curiosity_max != 0.0f;
    if (!needed || slots_[index].live) continue;
    base::StrAppend(&missing, missing.empty() ? "" : ", ", NameOf(index));
  }
  return missing;
}

kernels::Collector* PolicyWeights::collector() const {
  std::lock_guard lock(mutex_);
  return collector_.get();
}

ActiveWeights PolicyWeights::Swap() {
  std::unique_lock stage_lock(stage_mutex_, std::try_to_lock);
  if (!stage_lock.owns_lock()) return active_;
  std::lock_guard lock(mutex_);
  for (size_t index = 0; index < kWeightsKinds; ++index) {
    Slot& slot = slots_[index];
    if (slot.committed) continue;
    collector_->CommitWeights(static_cast<kernels::WeightsKind>(index));
    slot.committed = true;
    active_.versions[index] = slot.live->header.version();
  }
  active_.epsilon = epsilon_;
  return active_;
}

}  // namespace vixen::server
