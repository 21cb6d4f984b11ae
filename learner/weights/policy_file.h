// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/nn/network.h"

namespace vixen::learner {

// OUT/weights.safetensors: the bundle of a policy and what a restarted learner goes on from. The
// replay and the optimiser's moments are not in it.
struct PolicyFile {
  kernels::PolicyWeights weights;  // with versions; curiosity empty when curiosity_max is 0
  std::string policy;
  uint64_t updates = 0;
  uint64_t transitions = 0;
  std::string scaler_fingerprint;   // raw bytes
  std::string dataset_fingerprint;  // raw bytes
  std::string settings;             // the learner's effective configuration, textproto
  std::string environment;          // the actor's effective settings, textproto
};

// As a whole, or not at all.
absl::Status WritePolicyFile(const std::string& path, const PolicyFile& file);

// nullopt when there is none. FAILED_PRECONDITION naming both values when architecture, scaler or
// policy name are other than expected.
absl::StatusOr<std::optional<PolicyFile>> ReadPolicyFile(const std::string& path,
                                                         const std::string& policy,
                                                         const kernels::Architecture& architecture,
                                                         const std::string& scaler_fingerprint);

}  // namespace vixen::learner
