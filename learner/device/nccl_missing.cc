// SPDX-License-Identifier: Apache-2.0
// A build without CUDA, or without NCCL's header.
#include "learner/device/rank_exchange.h"

namespace vixen::learner {

namespace {

constexpr char kMissing[] = "this build has no NCCL (preset cuda has, where nccl.h is)";

}  // namespace

NcclOffer OfferNccl(int /*gpu*/) { return {.obstacle = kMissing}; }

absl::StatusOr<std::string> NewNcclId() { return absl::UnavailableError(kMissing); }

}  // namespace vixen::learner
