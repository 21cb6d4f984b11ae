// SPDX-License-Identifier: Apache-2.0
// Weights kept by version, so that recorded launches can be computed again: a folder of files
// POLICY-KIND-VERSION.safetensors (docs/formats.md, "Weights").
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/nn/network.h"

namespace vixen::kernels {

struct ArchivedWeights {
  std::string policy;
  uint64_t version = 0;
  std::string scaler_fingerprint;  // hexadecimal
  Parameters parameters;
};

// As a whole, or not at all. A file of that name is replaced. Returns its path.
absl::StatusOr<std::string> ArchiveWeights(const std::string& folder,
                                           const ArchivedWeights& weights);

// What a folder holds, by policy, kind and version: such files, and bundles of all kinds (a
// learner's weights.safetensors). Other files are passed over.
class WeightsArchive {
 public:
  // NOT_FOUND when there is no such folder; errors of a file that says it is weights and cannot be
  // read.
  static absl::StatusOr<WeightsArchive> Open(const std::string& folder);

  // The versions of one kind, ascending.
  std::vector<uint64_t> Versions(const std::string& policy, WeightsKind kind) const;
  // NOT_FOUND naming folder, policy, kind, version, and the versions that are there;
  // INVALID_ARGUMENT as ReadParameters for tensors of another architecture.
  absl::StatusOr<ArchivedWeights> Read(const std::string& policy, WeightsKind kind,
                                       uint64_t version, const Architecture& architecture) const;

 private:
  using Key = std::tuple<std::string, WeightsKind, uint64_t>;

  std::string folder_;
  std::map<Key, std::string> files_;
};

}  // namespace vixen::kernels
