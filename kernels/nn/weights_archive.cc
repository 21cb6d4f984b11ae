// SPDX-License-Identifier: Apache-2.0
#include "kernels/nn/weights_archive.h"

#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/str_cat.h"
#include "base/tensor_file.h"

namespace vixen::kernels {
namespace {

constexpr WeightsKind kKinds[] = {WeightsKind::kOnline, WeightsKind::kTarget,
                                  WeightsKind::kCuriosity};

std::string ValueOf(const base::TensorFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? "" : found->second;
}

// The prefix of a kind's tensors in a file: none where the file holds one kind.
std::string PrefixIn(const base::TensorFile& file, WeightsKind kind) {
  return ValueOf(file, "kind").empty() ? base::StrCat(WeightsKindName(kind), ".") : "";
}

}  // namespace

absl::StatusOr<std::string> ArchiveWeights(const std::string& folder,
                                           const ArchivedWeights& weights) {
  VIXEN_RETURN_IF_ERROR(base::MakeFolders(folder));
  const std::string kind(WeightsKindName(weights.parameters.kind));
  const std::string path =
      absl::StrFormat("%s/%s-%s-%012d.safetensors", folder, weights.policy, kind, weights.version);
  base::TensorFileWriter writer;
  writer.Metadata("format", "vixen.weights.v1")
      .Metadata("policy", weights.policy)
      .Metadata("kind", kind)
      .Metadata("version", std::to_string(weights.version))
      .Metadata("architecture", weights.parameters.architecture.Describe())
      .Metadata("scaler_fingerprint", weights.scaler_fingerprint);
  WriteParameters(weights.parameters, "", writer);
  VIXEN_RETURN_IF_ERROR(writer.Write(path));
  return path;
}

absl::StatusOr<WeightsArchive> WeightsArchive::Open(const std::string& folder) {
  namespace fs = std::filesystem;
  WeightsArchive archive;
  archive.folder_ = folder;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() != ".safetensors") continue;
    const std::string path = entry->path().string();
    VIXEN_ASSIGN_OR_RETURN(const base::TensorFile file, base::TensorFile::Open(path, false));
    if (ValueOf(file, "format") != "vixen.weights.v1") continue;
    const std::string policy = ValueOf(file, "policy");
    const std::string only = ValueOf(file, "kind");
    for (const WeightsKind kind : kKinds) {
      const std::string name(WeightsKindName(kind));
      uint64_t version = 0;
      const std::string text = only.empty()   ? ValueOf(file, name + "_version")
                               : only == name ? ValueOf(file, "version")
                                              : "";
      if (!absl::SimpleAtoi(text, &version)) continue;
      archive.files_[{policy, kind, version}] = path;
    }
  }
  if (error) return absl::NotFoundError(base::StrCat(folder, ": ", error.message()));
  return archive;
}

std::vector<uint64_t> WeightsArchive::Versions(const std::string& policy, WeightsKind kind) const {
  std::vector<uint64_t> versions;
  for (const auto& [key, path] : files_) {
    if (std::get<0>(key) == policy && std::get<1>(key) == kind) {
      versions.push_back(std::get<2>(key));
    }
  }
  return versions;
}

absl::StatusOr<ArchivedWeights> WeightsArchive::Read(const std::string& policy, WeightsKind kind,
                                                     uint64_t version,
                                                     const Architecture& architecture) const {
  const auto found = files_.find({policy, kind, version});
  if (found == files_.end()) {
    std::vector<uint64_t> there = Versions(policy, kind);
    const size_t more = there.size() > 8 ? there.size() - 8 : 0;
    there.erase(there.begin(), there.begin() + static_cast<ptrdiff_t>(more));
    return absl::NotFoundError(
        base::StrCat(folder_, ": no ", WeightsKindName(kind), " weights version ", version,
                     " of policy \"", policy, "\"; ",
                     there.empty() ? "none of them are there"
                                   : base::StrCat("there are versions ", more > 0 ? "…, " : "",
                                                  absl::StrJoin(there, ", ")),
                     "; the learner keeps every version with --weights_archive"));
  }
  VIXEN_ASSIGN_OR_RETURN(const base::TensorFile file, base::TensorFile::Open(found->second));
  const std::string prefix = PrefixIn(file, kind);
  ArchivedWeights weights;
  weights.policy = policy;
  weights.version = version;
  weights.scaler_fingerprint = ValueOf(file, "scaler_fingerprint");
  VIXEN_ASSIGN_OR_RETURN(weights.parameters, ReadParameters(file, prefix, architecture, kind));
  return weights;
}

}  // namespace vixen::kernels
