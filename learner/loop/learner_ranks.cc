// SPDX-License-Identifier: Apache-2.0
// Several learners on one policy: what the ranks agree on before each launch of updates (of one,
// through Gloo), and what becomes of the rest when one is gone.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "learner/device/rank_exchange.h"
#include "learner/loop/learner.h"
#include "proto/config/leaf.h"
#include "proto/config/settings.h"
#include "proto/config/value_text.h"

namespace vixen::learner {
namespace {

// What a rank says before each launch.
enum Said : size_t {
  kLeaving,
  kFailed,
  kUpdates,
  kDone,
  kLeastShare,
  kTransitions,
  kVersion,
  kCheckpoint,
  kSaid
};

// Everything that must be the same at every rank, a line each.
absl::StatusOr<std::string> SharedFacts(const Plan& plan, bool on_gpu) {
  std::string facts = SharedSettings(plan.config);
  const auto add = [&facts](std::string_view name, const std::string& value) {
    absl::StrAppend(&facts, std::string(name), "\t", value, "\n");
  };
  add("software", std::string(base::Version()));
  // A GPU's gradient has another order and padding.
  add("replay and updates", on_gpu ? "on a GPU" : "on the host");
  add("architecture", plan.architecture.Describe());
  add("dataset fingerprint", absl::BytesToHexString(plan.dataset_fingerprint));
  add("scaler fingerprint", absl::BytesToHexString(plan.scaler_fingerprint));
  VIXEN_ASSIGN_OR_RETURN(
      const v1::EnvironmentSettings environment,
      config::ParseSettingsBytes(plan.environment_bytes, "the actor's settings"));
  for (const config::Leaf& leaf : config::LeavesOf(*environment.GetDescriptor())) {
    add(absl::StrCat("the actor's ", leaf.name()), config::ValuesText(environment, leaf));
  }
  return facts;
}

template <typename T>
std::span<std::byte> BytesOf(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

std::string WhatIsLost(const Ranks::Survivors& survivors) {
  if (survivors.lost.empty()) return "a connection between ranks broke, all of them answer";
  return absl::StrCat("rank ", absl::StrJoin(survivors.lost, ", "), " is lost");
}

}  // namespace

absl::Status Learner::CheckRanksAgree(bool on_gpu) {
  VIXEN_ASSIGN_OR_RETURN(const std::string facts, SharedFacts(plan_, on_gpu));
  VIXEN_ASSIGN_OR_RETURN(const std::vector<std::string> all, ranks_->Gather(facts));
  VIXEN_RETURN_IF_ERROR(CheckAgreement(all));

  VIXEN_ASSIGN_OR_RETURN(const std::vector<std::string> consumers,
                         ranks_->Gather(plan_.config.consumer()));
  if (std::set<std::string>(consumers.begin(), consumers.end()).size() != consumers.size()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the ranks need a consumer name each, they have ",
                     absl::StrJoin(consumers, ", "), "; leave --consumer out"));
  }
  const std::vector<double> mine = {static_cast<double>(updates_)};
  VIXEN_ASSIGN_OR_RETURN(const std::span<const double> updates, ranks_->Gather(mine));
  if (std::all_of(updates.begin(), updates.end(), [&](double u) { return u == updates[0]; })) {
    return absl::OkStatus();
  }
  const std::string list = absl::StrJoin(updates, ", ");
  if (updates[0] == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "rank 0 begins anew and others resume: the ranks have made ", list, " updates"));
  }
  spdlog::warn("the ranks resume at {} updates: rank 0's model is taken", list);
  return absl::OkStatus();
}

absl::Status Learner::CopyModelFromLeader() {
  std::vector<uint64_t> counts = {updates_};
  VIXEN_RETURN_IF_ERROR(ranks_->CopyFromLeader(BytesOf(counts)));
  VIXEN_ASSIGN_OR_RETURN(TrainerCut cut, updater_->SaveTrainer());
  std::vector<float> steps = {cut.optimizer.steps};
  cut.updates = counts[0];
  for (std::vector<float>* part :
       {&cut.online.values, &cut.target.values, &cut.optimizer.first.values,
        &cut.optimizer.second.values, &steps}) {
    VIXEN_RETURN_IF_ERROR(ranks_->CopyFromLeader(BytesOf(*part)));
  }
  cut.optimizer.steps = steps[0];
  VIXEN_RETURN_IF_ERROR(updater_->RestoreTrainer(cut));
  updates_ = counts[0];
  if (curiosity_ == nullptr) return absl::OkStatus();
  VIXEN_ASSIGN_OR_RETURN(CuriosityCut curiosity, curiosity_->Save());
  steps[0] = curiosity.optimizer.steps;
  for (std::vector<float>* part : {&curiosity.weights.values, &curiosity.optimizer.first.values,
                                   &curiosity.optimizer.second.values, &steps}) {
    VIXEN_RETURN_IF_ERROR(ranks_->CopyFromLeader(BytesOf(*part)));
  }
  curiosity.optimizer.steps = steps[0];
  return curiosity_->Restore(curiosity);
}

absl::Status Learner::ChooseExchange() {
  if (!gpu_.has_value()) return absl::OkStatus();  // so it is with all of them
  if (plan_.config.parallel().gradient_exchange() == v1::ParallelSettings::GLOO) {
    spdlog::info("gradients go through the host (Gloo), one update a launch");
    sums_on_gpus_ = false;
    return updater_->AverageThroughHost();
  }
  VIXEN_ASSIGN_OR_RETURN(const std::vector<std::string> said,
                         ranks_->Gather(ToText(OfferNccl(*gpu_))));
  std::vector<NcclOffer> offers;
  for (const std::string& text : said) offers.push_back(OfferOf(text));
  const std::string obstacle = NcclObstacle(offers, ranks_->members());
  VIXEN_ASSIGN_OR_RETURN(const bool nccl,
                         UsesNccl(plan_.config.parallel().gradient_exchange(), obstacle));
  if (!nccl) {
    spdlog::info("gradients go through the host (Gloo), one update a launch{}",
                 obstacle.empty() ? "" : absl::StrCat(": ", obstacle));
    sums_on_gpus_ = false;
    return updater_->AverageThroughHost();
  }
  sums_on_gpus_ = true;
  const double silence = plan_.config.parallel().rank_timeout_seconds();
  NcclPlace place{.size = static_cast<int>(ranks_->size()),
                  .join_timeout = NcclJoinTimeout(ranks_->timeout()),
                  .timeout = std::chrono::milliseconds(static_cast<int64_t>(silence * 1e3))};
  absl::StatusOr<std::string> made = leads() ? NewNcclId() : "";
  const std::string id = IdToTell(made);
  std::vector<char> told(id.begin(), id.end());
  told.resize(kNcclIdBytes);
  VIXEN_RETURN_IF_ERROR(ranks_->CopyFromLeader(BytesOf(told)));
  VIXEN_RETURN_IF_ERROR(made.status());
  place.id.assign(told.begin(), told.end());
  VIXEN_RETURN_IF_ERROR(CheckToldId(place.id));
  place.place = static_cast<int>(ranks_->place());
  VIXEN_ASSIGN_OR_RETURN(const uint64_t taken, updater_->JoinRanks(place));
  spdlog::info(
      "gradients are added up on the {} GPUs by NCCL {}, which took {} of the {} MiB kept for it",
      place.size, offers[0].version, taken >> 20, kNcclBytes >> 20);
  return absl::OkStatus();
}

absl::Status Learner::AgreeOnTurn(const absl::Status& taken, const StopFlag& stop, bool& ended) {
  std::vector<double> mine(kSaid, 0.0);
  mine[kLeaving] = stop.stopped() ? 1 : 0;
  const absl::StatusOr<double> least_share = updater_->LeastShare();
  const absl::Status& own = taken.ok() ? least_share.status() : taken;
  mine[kFailed] = own.ok() ? 0 : 1;
  mine[kUpdates] = static_cast<double>(std::min(UpdatesAllowed(), UpdatesUntilNext()));
  mine[kDone] = Done() ? 1 : 0;
  mine[kLeastShare] = least_share.value_or(0.0);
  mine[kTransitions] = static_cast<double>(transitions_);
  mine[kVersion] = static_cast<double>(version_[0]);
  mine[kCheckpoint] = checkpoint_due_ ? 1 : 0;
  const absl::StatusOr<std::span<const double>> gathered = ranks_->Gather(mine);
  if (!own.ok()) {
    ended = true;  // what the others make of it is theirs
    return own;
  }
  if (!gathered.ok()) return gathered.status();
  const auto said = [&](size_t member, Said what) { return (*gathered)[member * kSaid + what]; };

  joint_ = {.updates = std::numeric_limits<uint64_t>::max(),
            .checkpoint = said(0, kCheckpoint) != 0,
            .least_share = std::numeric_limits<double>::infinity()};
  bool done = false;
  std::vector<int> leaving, failed;
  for (size_t i = 0; i < ranks_->size(); ++i) {
    const int rank = ranks_->members()[i];
    if (said(i, kFailed) != 0) failed.push_back(rank);
    if (said(i, kLeaving) != 0) leaving.push_back(rank);
    done = done || said(i, kDone) != 0;
    joint_.updates = std::min(joint_.updates, static_cast<uint64_t>(said(i, kUpdates)));
    joint_.least_share = std::min(joint_.least_share, said(i, kLeastShare));
    joint_.transitions += static_cast<uint64_t>(said(i, kTransitions));
  }
  if (!leads()) version_[0] = static_cast<uint64_t>(said(0, kVersion));
  if (!failed.empty()) return PartFrom(failed, /*failed=*/true, ended);
  if (!leaving.empty()) return PartFrom(leaving, /*failed=*/false, ended);
  ended = done;
  return absl::OkStatus();
}

absl::Status Learner::PartFrom(const std::vector<int>& gone, bool failed, bool& ended) {
  const auto is_gone = [&gone](int rank) {
    return std::find(gone.begin(), gone.end(), rank) != gone.end();
  };
  const bool go_on =
      plan_.config.parallel().on_rank_lost() == v1::ParallelSettings::CONTINUE && !is_gone(0);
  joint_.updates = 0;
  if (go_on && !is_gone(ranks_->rank())) {
    spdlog::warn("rank {} {}: going on without", absl::StrJoin(gone, ", "),
                 failed ? "failed" : "was asked to stop");
    Ranks::Survivors rest{.members = {}, .lost = gone};
    std::copy_if(ranks_->members().begin(), ranks_->members().end(),
                 std::back_inserter(rest.members), [&](int rank) { return !is_gone(rank); });
    return GoOnWith(rest);
  }
  ended = true;
  if (!failed) {
    spdlog::info("rank {} was asked to stop: stopping", absl::StrJoin(gone, ", "));
    return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat("rank ", absl::StrJoin(gone, ", "),
                                             " ended with an error (its log says which); "
                                             "stopped after ",
                                             updates_, " updates"));
}

absl::Status Learner::Recover(const absl::Status& error) {
  if (ranks_ == nullptr || !absl::IsUnavailable(error)) return error;
  joint_.updates = 0;
  const bool go_on = plan_.config.parallel().on_rank_lost() == v1::ParallelSettings::CONTINUE;
  absl::Status status = error;
  for (bool again = false; absl::IsUnavailable(status); again = true) {
    spdlog::warn("{}", status.ToString());
    const absl::StatusOr<Ranks::Survivors> survivors =
        ranks_->FindSurvivors(WaitsAfterLoss(ranks_->timeout(), sums_on_gpus_, go_on),
                              [this] { metrics_.health().Beat(); });
    if (!survivors.ok() || !go_on) {
      const std::string who =
          survivors.ok() ? WhatIsLost(*survivors) : std::string(survivors.status().message());
      return absl::UnavailableError(
          absl::StrCat(who, "; rank ", ranks_->rank(), " stopped after ", updates_, " updates",
                       survivors.ok() ? "; on_rank_lost CONTINUE would go on with the rest" : ""));
    }
    // Joining failed for another reason than one more loss: it would fail again.
    if (again && survivors->lost.empty()) return status;
    spdlog::warn("{}: going on with {} of them", WhatIsLost(*survivors), survivors->members.size());
    status = GoOnWith(*survivors);
  }
  return status;
}

absl::Status Learner::GoOnWith(const Ranks::Survivors& survivors) {
  VIXEN_RETURN_IF_ERROR(ranks_->GoOnWith(survivors));
  metrics_.health().Beat();  // each of these may take a rank's whole timeout
  // Where the exchange broke, some may have made the update and others not.
  VIXEN_RETURN_IF_ERROR(CopyModelFromLeader());
  metrics_.health().Beat();
  return ChooseExchange();
}

}  // namespace vixen::learner
