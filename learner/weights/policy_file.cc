// SPDX-License-Identifier: Apache-2.0
#include "learner/weights/policy_file.h"

#include <unistd.h>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/tensor_file.h"

namespace vixen::learner {
namespace {

absl::StatusOr<uint64_t> Counter(const base::TensorFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  uint64_t value = 0;
  if (found == file.metadata().end() || !absl::SimpleAtoi(found->second, &value)) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.source(), ": metadata ", key, " is missing or no whole number"));
  }
  return value;
}

}  // namespace

absl::Status WritePolicyFile(const std::string& path, const PolicyFile& file) {
  base::TensorFileWriter writer;
  writer.Metadata("format", "vixen.weights.v1")
      .Metadata("policy", file.policy)
      .Metadata("online_version", std::to_string(file.weights.online_version))
      .Metadata("target_version", std::to_string(file.weights.target_version))
      .Metadata("curiosity_version", std::to_string(file.weights.curiosity_version))
      .Metadata("step", std::to_string(file.updates))
      .Metadata("transitions", std::to_string(file.transitions))
      .Metadata("architecture", file.weights.online.architecture.Describe())
      .Metadata("scaler_fingerprint", absl::BytesToHexString(file.scaler_fingerprint))
      .Metadata("dataset_fingerprint", absl::BytesToHexString(file.dataset_fingerprint))
      .Metadata("settings", file.settings)
      .Metadata("environment", file.environment);
  kernels::WriteParameters(file.weights.online, "online.", writer);
  kernels::WriteParameters(file.weights.target, "target.", writer);
  if (!file.weights.curiosity.values.empty()) {
    kernels::WriteParameters(file.weights.curiosity, "curiosity.", writer);
  }
  return writer.Write(path);
}

absl::StatusOr<std::optional<PolicyFile>> ReadPolicyFile(const std::string& path,
                                                         const std::string& policy,
                                                         const kernels::Architecture& architecture,
                                                         const std::string& scaler_fingerprint) {
  if (access(path.c_str(), F_OK) != 0) return std::optional<PolicyFile>();
  PolicyFile out;
  VIXEN_ASSIGN_OR_RETURN(out.weights, kernels::LoadPolicyWeights(path));
  VIXEN_ASSIGN_OR_RETURN(const base::TensorFile file, base::TensorFile::Open(path));
  VIXEN_ASSIGN_OR_RETURN(out.updates, Counter(file, "step"));
  VIXEN_ASSIGN_OR_RETURN(out.transitions, Counter(file, "transitions"));
  const auto found = file.metadata().find("policy");
  out.policy = found == file.metadata().end() ? "" : found->second;
  kernels::Architecture theirs = out.weights.online.architecture;
  if (out.weights.curiosity.values.empty()) theirs.curiosity_hidden = architecture.curiosity_hidden;
  const auto refuse = [&](std::string_view what, const std::string& there,
                          const std::string& here) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": resume needs ", std::string(what), " ", here, ", the file has ",
                     there, "; choose another out folder or leave resume out"));
  };
  if (out.policy != policy) return refuse("policy", out.policy, policy);
  if (theirs != architecture) {
    return refuse("architecture", theirs.Describe(), architecture.Describe());
  }
  if (out.weights.scaler_fingerprint != absl::BytesToHexString(scaler_fingerprint)) {
    return refuse("scaler fingerprint", out.weights.scaler_fingerprint,
                  absl::BytesToHexString(scaler_fingerprint));
  }
  return out;
}

}  // namespace vixen::learner
