// SPDX-License-Identifier: Apache-2.0
#include "learner/device/rank_exchange.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace vixen::learner {

std::string ToText(const NcclOffer& offer) {
  return absl::StrCat(offer.gpu, "\n", offer.version, "\n", offer.obstacle);
}

NcclOffer OfferOf(const std::string& text) {
  const std::vector<std::string> lines = absl::StrSplit(text, absl::MaxSplits('\n', 2));
  if (lines.size() != 3) return {.obstacle = "says nothing of its GPU"};
  return {.gpu = lines[0], .version = lines[1], .obstacle = lines[2]};
}

std::string NcclObstacle(const std::vector<NcclOffer>& offers, const std::vector<int>& members) {
  std::map<std::string, int> taken;
  for (size_t i = 0; i < offers.size(); ++i) {
    if (!offers[i].obstacle.empty()) {
      return absl::StrCat("rank ", members[i], ": ", offers[i].obstacle);
    }
    const auto [other, first] = taken.emplace(offers[i].gpu, members[i]);
    if (!first) {
      return absl::StrCat("ranks ", other->second, " and ", members[i], " share GPU ",
                          offers[i].gpu);
    }
    if (offers[i].version != offers[0].version) {
      return absl::StrCat("rank ", members[0], " has NCCL ", offers[0].version, ", rank ",
                          members[i], " has ", offers[i].version);
    }
  }
  return "";
}

absl::StatusOr<bool> UsesNccl(v1::ParallelSettings::GradientExchange setting,
                              const std::string& obstacle) {
  if (setting == v1::ParallelSettings::NCCL && !obstacle.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("gradient_exchange is NCCL: ", obstacle,
                                                      "; AUTO or GLOO goes through the "
                                                      "host"));
  }
  return obstacle.empty();
}

std::string IdToTell(const absl::StatusOr<std::string>& made) {
  return made.ok() ? *made : std::string(kNcclIdBytes, '\0');
}

absl::Status CheckToldId(const std::string& told) {
  if (told != std::string(kNcclIdBytes, '\0')) return absl::OkStatus();
  return absl::UnavailableError("rank 0 could not begin with NCCL (its log says why)");
}

}  // namespace vixen::learner
