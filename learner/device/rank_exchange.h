// SPDX-License-Identifier: Apache-2.0
// How several learners with GPUs add up their gradients: on the GPUs by NCCL, where each of them
// has a GPU of its own and can open the library. No CUDA in this header.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "vixen/v1/config.pb.h"

namespace vixen::learner {

// What the library may take of a GPU's memory, kept free where ranks may join. A ring between two
// H200 has 24 channels (its own log), each with at most 4 MiB + 5 MiB of buffers for a neighbour
// (NCCL_BUFFSIZE and its two other protocols), trees up to three neighbours.
inline constexpr uint64_t kNcclBytes = 1ull << 30;

// How long what waits for a lost rank may take to end on a GPU once it was told to, and how long
// the library may take after it.
inline constexpr std::chrono::seconds kLongestEnd{10};

// How long the ranks may take to join where a silence of `timeout` is no loss yet: as long, but
// time enough for the library (0.6 s measured between two H200 of one host).
inline std::chrono::milliseconds NcclJoinTimeout(std::chrono::milliseconds timeout) {
  return std::max(timeout, std::chrono::milliseconds(10'000));
}

// What a rank must know to join the others.
struct NcclPlace {
  std::string id;  // NewNcclId of one of them
  int place = 0, size = 1;
  std::chrono::milliseconds join_timeout{300'000};
  std::chrono::milliseconds timeout{30'000};  // a launch that stands still for so long
};

// What a rank can: its GPU's unique name and NCCL's version, or why it cannot use NCCL.
struct NcclOffer {
  std::string gpu, version, obstacle;
};
// Of this process; where this build or machine has no CUDA or no NCCL, its obstacle.
NcclOffer OfferNccl(int gpu);
absl::StatusOr<std::string> NewNcclId();
inline constexpr size_t kNcclIdBytes = 128;

// A line for Gather, and back.
std::string ToText(const NcclOffer& offer);
NcclOffer OfferOf(const std::string& text);

// Empty where `offers` (by place; `members` are their ranks) let NCCL be used, else why not: a rank
// that cannot, two ranks with one GPU, two versions.
std::string NcclObstacle(const std::vector<NcclOffer>& offers, const std::vector<int>& members);

// Rank 0's id as all ranks hear it: zeros, which are no id, where it could not make one.
std::string IdToTell(const absl::StatusOr<std::string>& made);
// UNAVAILABLE where rank 0 told that it has none.
absl::Status CheckToldId(const std::string& told);

// Whether the gradients go through NCCL, with AUTO or NCCL as the setting: whether they can.
// FAILED_PRECONDITION where the setting is NCCL and `obstacle` is not empty.
absl::StatusOr<bool> UsesNccl(v1::ParallelSettings::GradientExchange setting,
                              const std::string& obstacle);

}  // namespace vixen::learner
